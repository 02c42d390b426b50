#include "analysis/calibrate/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/calibrate/step_times.hpp"

namespace psim::calibrate {
namespace {

using statistics::mean_of;

// A number of each simulation, averaged.
template <class Number>
double over(const std::vector<StepTimes>& simulated, Number&& number) {
  double sum = 0;
  for (const StepTimes& one : simulated) sum += number(one);
  return sum / static_cast<double>(simulated.size());
}

double memory(const StepTimes& times) { return memory_of(times.slowest()); }

double imbalance(const StepTimes& times) { return mean_of(times.imbalances()); }

// The mean over steps and workers.
double mean_of_rows(const std::vector<std::vector<double>>& rows) {
  double sum = 0;
  for (const std::vector<double>& row : rows) sum += mean_of(row);
  return sum / static_cast<double>(rows.size());
}

double mean_compute(const StepTimes& times) { return mean_of_rows(times.compute); }
double mean_rest(const StepTimes& times) { return mean_of_rows(times.rest); }

}  // namespace

std::vector<double> step_durations(std::span<const StepTimes> runs) {
  std::vector<double> result;
  for (const StepTimes& times : runs) {
    if (times.rest.empty()) {
      const std::vector<double> slowest = times.slowest();
      result.insert(result.end(), slowest.begin(), slowest.end());
      continue;
    }
    for (std::size_t i = 0; i < times.size(); ++i) {
      for (std::size_t w = 0; w < times.compute[i].size(); ++w)
        result.push_back(times.compute[i][w] + times.rest[i][w]);
    }
  }
  return result;
}

Verdict judge(const StepTimes& fitted, const StepTimes& held_out, const std::vector<StepTimes>& simulated,
              double within) {
  Verdict verdict{.within = within, .only_computations = held_out.rest.empty()};
  const std::vector<double> measured = step_durations({&held_out, 1}), drawn = step_durations(simulated);
  const std::string what = verdict.only_computations ? "the longest computation of a step" : "a step";
  verdict.judged = {
      {"mean of " + what, mean_of(measured), mean_of(drawn)},
      {"median of " + what, statistics::quantile(measured, 0.5), statistics::quantile(drawn, 0.5)},
      {"95 % quantile of " + what, statistics::quantile(measured, 0.95), statistics::quantile(drawn, 0.95)}};
  verdict.holds = std::ranges::all_of(verdict.judged,
                                      [&](const Compared& one) { return std::abs(one.error()) <= within; });
  const Compared memories{"memory of the longest computation, in steps", memory(held_out),
                          over(simulated, memory), ""},
      imbalances{"longest computation over the mean one", imbalance(held_out), over(simulated, imbalance),
                 ""};
  verdict.described = {
      {"mean computation", mean_compute(held_out), over(simulated, mean_compute)}, imbalances, memories};
  if (!held_out.rest.empty())
    verdict.described.push_back({"mean push and pull", mean_rest(held_out), over(simulated, mean_rest)});
  if (!verdict.holds) verdict.reasons = reasons_of(fitted, held_out, simulated, verdict);
  return verdict;
}

namespace {

using Rows = std::vector<std::vector<double>>;

struct Misfit {
  double seconds = 0;  // of a step that it concerns
  std::string text;
};

const char* more_or_less(double ratio) { return ratio > 1 ? "slower" : "faster"; }

double percent_apart(double ratio) { return 100 * std::abs(ratio - 1); }

// A number of each row.
template <class Number>
std::vector<double> series_of(const Rows& rows, Number&& number) {
  std::vector<double> series;
  for (const std::vector<double>& row : rows) series.push_back(number(row));
  return series;
}

double mean_of_row(const std::vector<double>& row) { return mean_of(row); }

// Each computation over the mean one of its worker in the fitted part.
Rows over_means(const StepTimes& times, const std::vector<double>& means) {
  Rows rows = times.compute;
  for (std::vector<double>& row : rows) {
    for (std::size_t w = 0; w < row.size(); ++w) row[w] /= means[w];
  }
  return rows;
}

// The two middle ones of all values but one; the same one twice if the number of others is odd.
std::pair<double, double> middle_of_others(const std::vector<double>& sorted, double value) {
  const auto own = static_cast<std::size_t>(std::ranges::lower_bound(sorted, value) - sorted.begin());
  const auto other = [&](std::size_t place) { return sorted[place < own ? place : place + 1]; };
  const std::size_t others = sorted.size() - 1;
  return {other((others - 1) / 2), other(others / 2)};
}

// Each value of a row over the median of the others. An effect on all workers at once falls out.
Rows beside_others(Rows rows) {
  for (std::vector<double>& row : rows) {
    std::vector<double> sorted = row;
    std::ranges::sort(sorted);
    for (double& value : row) {
      const auto [low, high] = middle_of_others(sorted, value);
      value /= (low + high) / 2;
    }
  }
  return rows;
}

// Differences between the two parts of a log, and between a part and its model.
class Differences {
 public:
  Differences(const StepTimes& fitted, const StepTimes& held_out, const std::vector<StepTimes>& simulated,
              const Verdict& verdict)
      : fitted_(fitted), held_out_(held_out), simulated_(simulated), verdict_(verdict) {
    for (std::size_t w = 0; w < workers(); ++w) {
      means_.push_back(mean_of(fitted.of_worker(w)));
      ratios_.push_back(mean_of(held_out.of_worker(w)) / means_.back());
    }
  }

  std::vector<std::string> reasons() {
    find_change_of_cluster();
    if (workers() > 1) find_change_of_worker();
    if (workers() > 1) find_imbalance();
    if (has_rest()) find_network();
    find_memory();
    find_bursts();
    std::ranges::stable_sort(reasons_, std::ranges::greater{}, &Misfit::seconds);
    std::vector<std::string> texts;
    for (const Misfit& one : reasons_) texts.push_back(one.text);
    if (texts.empty()) texts.push_back(without_reason());
    return texts;
  }

 private:
  std::size_t workers() const { return fitted_.workers.size(); }
  bool has_rest() const { return !fitted_.rest.empty() && !held_out_.rest.empty(); }

  bool is_large(double ratio) const { return std::abs(ratio - 1) > verdict_.within; }

  // Whether two numbers differ by more than the errors of the parts' means explain. All tests of a verdict
  // together find a difference by chance in the stated share of logs.
  bool is_beyond_chance(double difference, const std::vector<double>& first,
                        const std::vector<double>& later) const {
    constexpr std::size_t of_a_log = 5;  // the cluster, imbalance, bursts, and push and pull twice
    const double probability = false_reasons / static_cast<double>(of_a_log + workers());
    return std::abs(difference) >
           chance_difference(mean_with_error(first), mean_with_error(later), probability);
  }

  bool is_beyond_chance(const std::vector<double>& first, const std::vector<double>& later) const {
    return is_beyond_chance(mean_of(later) - mean_of(first), first, later);
  }

  // The median worker: some workers alone are no change of the cluster.
  void find_change_of_cluster() {
    const double ratio = statistics::median_of(ratios_);
    if (!is_large(ratio) ||
        !is_beyond_chance(series_of(over_means(fitted_, means_), statistics::median_of),
                          series_of(over_means(held_out_, means_), statistics::median_of)))
      return;
    reasons_.push_back(
        {std::abs(ratio - 1) * mean_of(means_),
         fmt::format("the computations of the later part are {:.0f} % {} than those of the first: the "
                     "cluster changed, and no fit of the first part can know",
                     percent_apart(ratio), more_or_less(ratio))});
  }

  void find_change_of_worker() {
    const Rows first = beside_others(over_means(fitted_, means_)),
               later = beside_others(over_means(held_out_, means_));
    std::vector<double> sorted = ratios_;
    std::ranges::sort(sorted);
    Misfit worst;
    std::size_t changed = 0;
    for (std::size_t w = 0; w < workers(); ++w) {
      const auto [low, high] = middle_of_others(sorted, ratios_[w]);
      const double ratio = ratios_[w] / std::clamp(ratios_[w], low, high);
      const auto of_worker = [w](const std::vector<double>& row) { return row[w]; };
      if (!is_large(ratio) || !is_beyond_chance(series_of(first, of_worker), series_of(later, of_worker)))
        continue;
      ++changed;
      // If one of two workers changes, each differs from the other. The worker with the larger change in
      // seconds counts.
      const double seconds = std::abs(ratios_[w] - 1) * means_[w];
      if (changed > 1 && seconds <= worst.seconds) continue;
      worst = {seconds,
               fmt::format("worker {} is {:.0f} % {} in the later part, relative to the other workers",
                           fitted_.workers[w], percent_apart(ratio), more_or_less(ratio))};
    }
    if (changed == 0) return;
    if (changed > 1 && workers() > 2)
      worst.text += fmt::format("; {} of {} workers changed so", changed, workers());
    reasons_.push_back(std::move(worst));
  }

  void find_imbalance() {
    const auto& [name, measured, simulated, unit] = verdict_.described[1];
    if (!is_large(simulated / measured) ||
        !is_beyond_chance(simulated - measured, fitted_.imbalances(), held_out_.imbalances()))
      return;
    reasons_.push_back(
        {std::abs(measured - simulated) * mean_of(means_),
         fmt::format("the longest computation of a step is {:.2f} times the mean one, and {:.2f} times in "
                     "the model",
                     measured, simulated)});
  }

  void find_network() {
    const std::vector<double> first = series_of(fitted_.rest, mean_of_row),
                              later = series_of(held_out_.rest, mean_of_row);
    const auto& [name, measured, simulated, unit] = verdict_.described.back();
    if (is_large(simulated / measured) && is_beyond_chance(simulated - measured, first, later))
      reasons_.push_back({std::abs(measured - simulated),
                          fmt::format("push and pull take {:.4g} s in the mean, and {:.4g} s in the model",
                                      measured, simulated)});
    const double ratio = mean_of(later) / mean_of(first);
    if (is_large(ratio) && is_beyond_chance(first, later))
      reasons_.push_back({std::abs(mean_of(later) - mean_of(first)),
                          fmt::format("push and pull take {:.0f} % {} in the later part",
                                      percent_apart(ratio), ratio > 1 ? "longer" : "less")});
  }

  // Estimates of a memory scatter: the held-out steps must remember longer than any simulation.
  void find_memory() {
    double most = 1;
    for (const StepTimes& one : simulated_) most = std::max(most, memory_of(one.slowest()));
    const auto& [name, measured, simulated, unit] = verdict_.described[2];
    if (measured <= 2 * most || measured <= 3) return;
    reasons_.push_back(
        {0, fmt::format("the longest computations are autocorrelated over {:.0f} steps, and those of the "
                        "model over {:.0f}",
                        measured, simulated)});
  }

  // The share of a step's times above the model's 95 % quantile.
  void find_bursts() {
    const Compared &mean = verdict_.judged[0], &high = verdict_.judged[2];
    if (std::abs(high.error()) <= verdict_.within || std::abs(mean.error()) > verdict_.within) return;
    const auto share_above = [&](const StepTimes& times) {
      const std::vector<double> durations = step_durations({&times, 1});
      const std::size_t of_a_step = durations.size() / times.size();
      std::vector<double> shares(times.size(), 0);
      for (std::size_t i = 0; i < durations.size(); ++i)
        shares[i / of_a_step] += durations[i] > high.simulated ? 1 / static_cast<double>(of_a_step) : 0;
      return shares;
    };
    if (is_beyond_chance(share_above(fitted_), share_above(held_out_)))
      reasons_.push_back(
          {0, "the mean agrees, but the longest steps do not: the held-out part has other bursts"});
  }

  std::string without_reason() const {
    const auto of_a_step = [](const StepTimes& times) {
      return times.rest.empty() ? times.slowest() : times.mean_durations();
    };
    constexpr double usual = 0.05;
    const Mean first = mean_with_error(of_a_step(fitted_)), later = mean_with_error(of_a_step(held_out_));
    const double chance = chance_difference(first, later, usual) / first.value;
    if (chance <= verdict_.within) return "no single property of the steps explains the error";
    return fmt::format(
        "chance alone makes the mean steps of two such parts differ by up to {:.0f} %, so the log is too "
        "short for a verdict within {:.3g} %",
        100 * chance, 100 * verdict_.within);
  }

  const StepTimes &fitted_, &held_out_;
  const std::vector<StepTimes>& simulated_;
  const Verdict& verdict_;
  std::vector<double> means_;   // of the fitted part, by worker
  std::vector<double> ratios_;  // of the held-out part's means to these
  std::vector<Misfit> reasons_;
};

}  // namespace

std::vector<std::string> reasons_of(const StepTimes& fitted, const StepTimes& held_out,
                                    const std::vector<StepTimes>& simulated, const Verdict& verdict) {
  return Differences(fitted, held_out, simulated, verdict).reasons();
}

}  // namespace psim::calibrate
