// psim_coverage: do intervals keep their promise? Goal: of thousands of studies whose truth is known, 95 %
// have it in their interval. Method: synthetic pairs (shapes.hpp), the library's own intervals, and a count.
//   psim_coverage [--studies N] [--resamples N] [--methods | --until | --times | --widths]
// --methods shows what was tried beside the interval that the library has; --until the number of seeds that a
// width decides; --times the intervals of restricted means; --widths what the one seed of the program's
// bootstrap does to widths, against twenty other seeds, with as many resamples as the program takes. Exit
// code 1: an interval that promises 94 to 96 % is outside, by more than three binomial errors.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/statistics/paired_comparison.hpp"
#include "analysis/statistics/time_to_target.hpp"
#include "tests/coverage/methods.hpp"
#include "tests/coverage/shapes.hpp"

namespace psim::test {
namespace {

struct Options {
  std::size_t studies = 4'000;
  std::size_t resamples = 199;
  bool methods = false, until = false, times = false, widths = false;
};

double share(std::size_t count, std::size_t studies) {
  return static_cast<double>(count) / static_cast<double>(studies);
}

// Whether a coverage is within 94 to 96 %, give or take three binomial errors.
bool promised(double coverage, std::size_t studies) {
  const double error = 3 * binomial_error(0.95, studies);
  return coverage >= 0.94 - error && coverage <= 0.96 + error;
}

std::string percent(double coverage, std::size_t studies, bool kept) {
  const bool outside = !promised(coverage, studies);
  return fmt::format("{:>7.1f}{}", 100 * coverage, !outside ? ' ' : kept ? '!' : '*');
}

// Coverage of the difference and of the ratio by the number of seeds.
bool intervals(const Options& options) {
  const std::size_t sizes[] = {2, 3, 4, 5, 6, 8, 10, 15, 20, 30};
  bool kept = true;
  for (const bool ratio : {false, true}) {
    fmt::print("\n{:<12}", ratio ? "ratio" : "difference");
    for (const std::size_t seeds : sizes) fmt::print("{:>8}", seeds);
    for (const Shape& shape : shapes()) {
      const double truth = ratio ? std::exp(shape.truth.log_ratio) : shape.truth.difference;
      fmt::print("\n{:<12}", shape.name);
      for (const std::size_t seeds : sizes) {
        std::size_t count = 0;
        for (std::size_t study = 0; study < options.studies; ++study) {
          const std::vector<Pair> pairs = draw_study(shape, seeds, study);
          const statistics::Resampling how{.seed = study + 1, .resamples = options.resamples};
          count += covers(ratio ? statistics::mean_ratio(pairs, how)->interval
                                : statistics::mean_difference(pairs, how).interval,
                          truth);
        }
        const bool must = shape.usual && seeds >= statistics::fewest_seeds;
        if (must && !promised(share(count, options.studies), options.studies)) kept = false;
        fmt::print("{}", percent(share(count, options.studies), options.studies, must));
        std::fflush(stdout);
      }
    }
  }
  fmt::print("\n\n* not 94 to 96 %, and not promised; ! promised. Binomial error {:.2f} points.\n",
             100 * binomial_error(0.95, options.studies));
  return kept;
}

// The difference, by other methods.
void alternatives(const Options& options) {
  fmt::print("{:<12}{:>6}", "", "seeds");
  for (const Method& method : all_methods) fmt::print("{:>16}", method.name);
  for (const Shape& shape : shapes()) {
    for (const std::size_t seeds : {5U, 10U, 20U}) {
      std::vector<std::size_t> counts(std::size(all_methods));
      for (std::size_t study = 0; study < options.studies; ++study) {
        const Resampled resampled(draw_study(shape, seeds, study), study + 1, options.resamples);
        for (std::size_t m = 0; m < counts.size(); ++m)
          counts[m] += covers(all_methods[m].interval(resampled), shape.truth.difference);
      }
      fmt::print("\n{:<12}{:>6}", shape.name, seeds);
      for (const std::size_t count : counts) fmt::print("{:>16.1f}", 100 * share(count, options.studies));
      std::fflush(stdout);
    }
  }
  fmt::print("\n\nBinomial error {:.2f} points.\n", 100 * binomial_error(0.95, options.studies));
}

// Stops at the first seed from the tenth on at which Student's interval is narrow enough.
struct Stopped {
  bool covered = false;
  std::size_t seeds = 0;
  bool narrow = true;
};
Stopped looking_each_time(const Shape& shape, std::size_t study, double width, double truth) {
  Stream stream(1, shape.name, 0, study);
  std::vector<Pair> pairs;
  for (;;) {
    pairs.push_back(shape.draw(stream));
    if (pairs.size() < 10) continue;
    const statistics::Interval interval = student_log_ratio(pairs);
    if (interval.high - interval.low <= 2 * std::log1p(width))
      return {covers(interval, std::log(truth)), pairs.size()};
  }
}

Stopped in_two_stages(const Shape& shape, std::size_t study, double width, double truth) {
  Stream stream(1, shape.name, 0, study);
  std::vector<Pair> pairs;
  for (;;) {
    const statistics::SeedPlan plan =
        statistics::plan_seeds(pairs, {.relative_half_width = width}, {.seed = study + 1, .resamples = 199});
    if (plan.done) return {covers(plan.ratio->interval, truth), pairs.size(), plan.narrow};
    while (pairs.size() < plan.seeds) pairs.push_back(shape.draw(stream));
  }
}

bool until(const Options& options) {
  bool kept = true;
  fmt::print("{:<12}{:>7}{:>12}{:>8}{:>8}{:>20}{:>8}\n", "ratio", "width", "two stages", "narrow", "seeds",
             "each time, from 10", "seeds");
  for (const Shape& shape : shapes()) {
    const double truth = std::exp(shape.truth.log_ratio);
    for (const double width : {0.05, 0.1}) {
      std::size_t counts[2] = {}, seeds[2] = {}, narrow = 0;
      for (std::size_t study = 0; study < options.studies; ++study) {
        const Stopped stopped[] = {in_two_stages(shape, study, width, truth),
                                   looking_each_time(shape, study, width, truth)};
        narrow += stopped[0].narrow;
        for (int i = 0; i < 2; ++i) {
          counts[i] += stopped[i].covered;
          seeds[i] += stopped[i].seeds;
        }
      }
      const double coverage = share(counts[0], options.studies);
      if (shape.usual && coverage < 0.94 - 3 * binomial_error(0.95, options.studies)) kept = false;
      fmt::print("{:<12}{:>5.0f} %{:>12.1f}{:>8.1f}{:>8.0f}{:>20.1f}{:>8.0f}\n", shape.name, 100 * width,
                 100 * coverage, 100 * share(narrow, options.studies), share(seeds[0], options.studies),
                 100 * share(counts[1], options.studies), share(seeds[1], options.studies));
      std::fflush(stdout);
    }
  }
  return kept;
}

// Times to a target of one arm, and what gives up when.
struct TimesShape {
  std::string_view name;
  double (*time)(Stream&);
  double (*budget)(Stream&);
  double (*mean_up_to)(double tau);  // of min(T, tau)
};
constexpr double no_end = 1e9;
double lognormal_time(Stream& s) { return 10 * std::exp(0.3 * s.normal()); }
double exponential_time(Stream& s) { return 10 * s.exponential(); }
double lognormal_mean(double tau) { return restricted(10, 0.3, tau); }
double exponential_mean(double tau) { return 10 * (1 - std::exp(-tau / 10)); }
constexpr TimesShape times_shapes[] = {
    {"lognormal, none missed", lognormal_time, [](Stream&) { return no_end; }, lognormal_mean},
    {"lognormal, budget 12", lognormal_time, [](Stream&) { return 12.0; }, lognormal_mean},
    {"lognormal, budget 10", lognormal_time, [](Stream&) { return 10.0; }, lognormal_mean},
    {"lognormal, budgets 8-20", lognormal_time, [](Stream& s) { return s.uniform(8, 20); }, lognormal_mean},
    {"exponential, none missed", exponential_time, [](Stream&) { return no_end; }, exponential_mean},
    {"exponential, budget 10", exponential_time, [](Stream&) { return 10.0; }, exponential_mean},
    {"exponential, budgets 5-40", exponential_time, [](Stream& s) { return s.uniform(5, 40); },
     exponential_mean},
};

// Up to the time that the arm's own curve knows. Studies in which no run reached its target have no interval
// and do not count.
void restricted_means(const Options& options) {
  fmt::print("{:<26}", "restricted mean, seeds:");
  for (const std::size_t seeds : {3U, 5U, 10U, 20U}) fmt::print("{:>8}", seeds);
  for (const TimesShape& shape : times_shapes) {
    fmt::print("\n{:<26}", shape.name);
    for (const std::size_t seeds : {3U, 5U, 10U, 20U}) {
      std::size_t count = 0, all = 0;
      for (std::size_t study = 0; study < options.studies; ++study) {
        Stream stream(3, shape.name, seeds, study);
        std::vector<statistics::TimedRun> runs;
        double latest = 0;
        bool missed = false;
        for (std::size_t i = 0; i < seeds; ++i) {
          const double time = shape.time(stream), budget = shape.budget(stream);
          runs.push_back(
              {.seed = i, .time_s = std::min(time, budget), .reached = time <= budget, .budget_s = budget});
          latest = std::max(latest, std::min(time, budget));
          missed = missed || time > budget;
        }
        const double tau = missed ? latest : no_end;
        const auto mean = statistics::restricted_mean(statistics::kaplan_meier(runs), tau);
        const auto interval = statistics::restricted_interval(*mean, seeds, tau);
        if (!interval) continue;
        ++all;
        count += covers(*interval, shape.mean_up_to(tau));
      }
      fmt::print("{:>8.1f}", 100 * share(count, all));
      std::fflush(stdout);
    }
  }
  fmt::print("\n\nBinomial error {:.2f} points.\n", 100 * binomial_error(0.95, options.studies));
}

// The width with the program's seed, divided by the mean width over twenty other seeds: the mean over
// studies. Whether all are within 0.3 %.
bool widths(const Options& options) {
  bool kept = true;
  const std::size_t studies = std::min<std::size_t>(options.studies, 20);
  fmt::print("{:<12}", "widths");
  for (const std::size_t seeds : {5U, 10U, 20U}) fmt::print("{:>8}", seeds);
  const auto all = shapes();
  const Shape& shape = *all.begin();
  fmt::print("\n{:<12}", shape.name);
  for (const std::size_t seeds : {5U, 10U, 20U}) {
    double sum = 0;
    for (std::size_t study = 0; study < studies; ++study) {
      const std::vector<Pair> pairs = draw_study(shape, seeds, study);
      const auto width = [&](std::uint64_t seed) {
        const statistics::Interval i = statistics::mean_difference(pairs, {.seed = seed}).interval;
        return i.high - i.low;
      };
      double others = 0;
      for (std::uint64_t seed = 2; seed < 22; ++seed) others += width(seed) / 20;
      sum += width(1) / others;
    }
    const double ratio = sum / static_cast<double>(studies);
    kept = kept && std::abs(ratio - 1) < 0.003;
    fmt::print("{:>8.4f}", ratio);
    std::fflush(stdout);
  }
  fmt::print("\n");
  return kept;
}

std::optional<Options> options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto number = [&](std::size_t& into) {
      const std::string_view text = ++i < argc ? argv[i] : "";
      return std::from_chars(text.data(), text.data() + text.size(), into).ec == std::errc() && into > 0;
    };
    if (word == "--methods") options.methods = true;
    else if (word == "--until") options.until = true;
    else if (word == "--times") options.times = true;
    else if (word == "--widths") options.widths = true;
    else if (word == "--studies" && number(options.studies)) continue;
    else if (word == "--resamples" && number(options.resamples)) continue;
    else return std::nullopt;
  }
  return options;
}

}  // namespace
}  // namespace psim::test

int main(int argc, char** argv) {
  using namespace psim::test;
  const std::optional<Options> options = options_of(argc, argv);
  if (!options) {
    fmt::print(
        "usage: psim_coverage [--studies N] [--resamples N] [--methods | --until | --times | --widths]\n");
    return 2;
  }
  if (options->methods) {
    alternatives(*options);
    return 0;
  }
  if (options->times) {
    restricted_means(*options);
    return 0;
  }
  if (options->widths) return widths(*options) ? 0 : 1;
  return (options->until ? until(*options) : intervals(*options)) ? 0 : 1;
}
