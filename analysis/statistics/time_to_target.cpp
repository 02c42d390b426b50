#include "analysis/statistics/time_to_target.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace psim::statistics {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

void check(const TimedRun& run) {
  const bool sound = run.reached ? run.time_s >= 0 && run.time_s <= run.budget_s : run.budget_s >= 0;
  if (!sound)
    throw std::invalid_argument("seed " + std::to_string(run.seed) +
                                ": a time lies between 0 and the run's budget, and neither is negative");
}

// The observed time of a run: to its target, or to its budget.
double watched(const TimedRun& run) { return run.reached ? run.time_s : run.budget_s; }

}  // namespace

double restricted_time(const TimedRun& run, double tau_s) {
  check(run);
  if (run.reached) return std::min(run.time_s, tau_s);
  if (run.budget_s < tau_s)
    throw std::invalid_argument("seed " + std::to_string(run.seed) +
                                " gave up before the common budget: use the Kaplan-Meier estimate");
  return tau_s;
}

double common_budget(std::span<const TimedRun> runs) {
  double tau = never;
  for (const TimedRun& run : runs) {
    if (!run.reached) tau = std::min(tau, run.budget_s);
  }
  return tau;
}

TimeSummary summarize_times(std::span<const TimedRun> runs, double tau_s) {
  TimeSummary result{.tau_s = tau_s, .runs = runs.size()};
  std::vector<double> restricted, times;
  for (const TimedRun& run : runs) {
    const double time = restricted_time(run, tau_s);
    if (run.reached && run.time_s <= tau_s) times.push_back(run.time_s);
    restricted.push_back(time);
  }
  std::ranges::sort(restricted);
  std::ranges::sort(times);
  result.reached = times.size();
  result.restricted_mean_s = mean_of(restricted);
  result.restricted_sd_s = sd_of(restricted);
  const std::size_t half = (runs.size() + 1) / 2;
  if (times.size() >= half) result.median_s = times[half - 1];
  return result;
}

SurvivalCurve kaplan_meier(std::span<const TimedRun> runs) {
  std::vector<TimedRun> sorted(runs.begin(), runs.end());
  if (sorted.empty()) throw std::invalid_argument("a survival curve needs at least one run");
  std::ranges::for_each(sorted, check);
  std::ranges::sort(sorted, {}, watched);
  SurvivalCurve curve{.known_until_s = watched(sorted.back())};
  double survival = 1, sum = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    SurvivalStep step{.time_s = watched(sorted[i]), .at_risk = sorted.size() - i};
    for (; i < sorted.size() && watched(sorted[i]) == step.time_s; ++i) step.reached += sorted[i].reached;
    if (step.reached == 0) continue;
    const auto n = static_cast<double>(step.at_risk);
    const auto d = static_cast<double>(step.reached);
    survival *= 1 - d / n;
    if (d < n) sum += d / (n * (n - d));
    step.survival = survival;
    step.variance = survival * survival * sum;
    curve.steps.push_back(step);
  }
  if (survival == 0) curve.known_until_s = never;
  return curve;
}

std::optional<double> survival_median(const SurvivalCurve& curve) {
  // Rounding may move a product of shares away from 1/2.
  const auto half =
      std::ranges::find_if(curve.steps, [](const auto& step) { return step.survival <= 0.5 + 1e-12; });
  if (half == curve.steps.end()) return std::nullopt;
  return half->time_s;
}

std::optional<RestrictedMean> restricted_mean(const SurvivalCurve& curve, double tau_s) {
  if (!(tau_s >= 0) || tau_s > curve.known_until_s) return std::nullopt;
  RestrictedMean result;
  double end = tau_s;  // end of the piece of the curve that is added next, from last to first
  for (std::size_t i = curve.steps.size(); i-- > 0;) {
    const SurvivalStep& step = curve.steps[i];
    if (step.time_s > tau_s) continue;
    if (step.survival > 0) result.mean_s += step.survival * (end - step.time_s);
    end = step.time_s;
    const auto n = static_cast<double>(step.at_risk), d = static_cast<double>(step.reached);
    if (d < n) result.variance_s2 += result.mean_s * result.mean_s * d / (n * (n - d));
  }
  result.mean_s += end;
  return result;
}

std::optional<Interval> restricted_interval(const RestrictedMean& mean, std::size_t runs, double most_s) {
  if (runs < 2 || mean.mean_s >= most_s) return std::nullopt;
  const auto n = static_cast<double>(runs);
  const double spread = n / (n - 1);
  const double half = student_quantile(0.975, runs - 1) * std::sqrt(spread * mean.variance_s2);
  return Interval{std::max(0.0, mean.mean_s - half), std::min(most_s, mean.mean_s + half)};
}

namespace {

constexpr double miss = std::numeric_limits<double>::infinity();

// Equal times may differ by rounding, because they are differences of rounded dates.
bool alike(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::min(std::abs(a), std::abs(b));
}

void check_profile(const Profile& profile) {
  if (profile.ratios.empty())
    throw std::invalid_argument("a performance profile needs at least one condition");
}

}  // namespace

std::vector<Profile> performance_profiles(const std::vector<std::vector<double>>& times) {
  std::vector<double> best;
  for (const std::vector<double>& arm : times) {
    best.resize(times.front().size(), miss);
    if (arm.size() != best.size())
      throw std::invalid_argument("performance profiles need every arm under every condition");
    for (std::size_t c = 0; c < arm.size(); ++c) {
      if (!(arm[c] > 0)) throw std::invalid_argument("performance profiles need positive times");
      best[c] = std::min(best[c], arm[c]);
    }
  }
  std::vector<Profile> profiles;
  for (const std::vector<double>& arm : times) {
    Profile& profile = profiles.emplace_back();
    for (std::size_t c = 0; c < arm.size(); ++c)
      profile.ratios.push_back(std::isinf(arm[c]) ? miss : arm[c] / best[c]);
    std::ranges::sort(profile.ratios);
  }
  return profiles;
}

double share_within(const Profile& profile, double tau) {
  check_profile(profile);
  const auto within = std::ranges::upper_bound(profile.ratios, tau) - profile.ratios.begin();
  return static_cast<double>(within) / static_cast<double>(profile.ratios.size());
}

double profile_score(const Profile& profile, double r_max) {
  check_profile(profile);
  if (!(r_max > 1)) throw std::invalid_argument("the score of a profile needs an r_max above 1");
  // A condition with ratio r adds its share from r to r_max.
  double area = 0;
  for (const double ratio : profile.ratios) area += std::max(0.0, r_max - ratio);
  return area / static_cast<double>(profile.ratios.size()) / (r_max - 1);
}

std::vector<bool> pareto_front(const std::vector<std::vector<double>>& rows,
                               std::span<const Better> columns) {
  for (const std::vector<double>& row : rows) {
    if (row.size() != columns.size() || std::ranges::any_of(row, [](double x) { return std::isnan(x); }))
      throw std::invalid_argument("a Pareto front needs a number in every column of every row");
  }
  const auto beats = [&](const std::vector<double>& a, const std::vector<double>& b) {
    bool better_in_one = false;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (alike(a[c], b[c])) continue;
      if ((columns[c] == Better::smaller) != (a[c] < b[c])) return false;
      better_in_one = true;
    }
    return better_in_one;
  };
  std::vector<bool> front;
  for (const std::vector<double>& row : rows) {
    front.push_back(std::ranges::none_of(
        rows, [&](const std::vector<double>& other) { return &other != &row && beats(other, row); }));
  }
  return front;
}

}  // namespace psim::statistics
