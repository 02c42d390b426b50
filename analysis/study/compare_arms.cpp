// Compares arms with the baseline: over the seeds that both have, up to their common budget.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/study/study.hpp"

namespace psim::analysis {
namespace {

using statistics::TimedRun;

constexpr double level = 0.05;  // of significance
constexpr double no_limit = std::numeric_limits<double>::infinity();

// All comparisons of all studies use the same draws.
constexpr statistics::Resampling resampling{};

// The runs of two cells with one seed.
struct SeedRuns {
  TimedRun arm, baseline;
};

std::vector<SeedRuns> common_seeds(const Cell& arm, const Cell& baseline) {
  std::map<std::int64_t, const StudyRun*> others;
  for (const StudyRun& run : baseline.runs) others.emplace(run.seed, &run);
  std::map<std::int64_t, SeedRuns> pairs;
  for (const StudyRun& run : arm.runs) {
    const auto other = others.find(run.seed);
    if (other != others.end()) pairs.emplace(run.seed, SeedRuns{timed(run), timed(*other->second)});
  }
  std::vector<SeedRuns> result;
  for (const auto& [seed, pair] : pairs) result.push_back(pair);
  return result;
}

// The date up to which the times of both runs are known: the smallest budget of those that missed the target.
// If no run did except stuck ones, any budget that is `long_enough` will do.
double budget_of(const SeedRuns& pair, double long_enough) {
  const double budget = statistics::common_budget(std::array{pair.arm, pair.baseline});
  return std::isfinite(budget) ? budget : long_enough;
}

ReachedByBoth reached_by(const std::vector<SeedRuns>& pairs) {
  ReachedByBoth both;
  for (const auto& [arm, baseline] : pairs) {
    both.arm += arm.reached;
    both.baseline += baseline.reached;
    both.apart.arm += arm.reached && !baseline.reached;
    both.apart.baseline += baseline.reached && !arm.reached;
  }
  both.p_value = statistics::mcnemar(both.apart);
  return both;
}

bool is_traced(const Cell& cell) { return std::ranges::any_of(cell.runs, &StudyRun::by_trace); }

// If seeds change nothing, nothing is known about chance: keeps the ratio, and removes interval and p value.
void forget_chance(VersusBaseline& versus) {
  versus.replicates = false;
  versus.pairs.difference.interval = {-no_limit, no_limit};
  if (versus.pairs.ratio) versus.pairs.ratio->interval = {0, no_limit};
  versus.pairs.test.p = 1;
  versus.pairs.trustworthy = false;
}

// The intervals hold the ratio and the difference of one further pair of runs.
void predict(VersusBaseline& versus) {
  std::vector<double> logs, differences;
  for (const statistics::Pair& pair : versus.values) {
    differences.push_back(pair.arm - pair.baseline);
    if (pair.arm > 0 && pair.baseline > 0) logs.push_back(std::log(pair.arm / pair.baseline));
  }
  const auto of_differences = statistics::prediction_interval(differences);
  if (!of_differences) return;
  versus.predicted = true;
  versus.pairs.difference.interval = *of_differences;
  if (versus.pairs.ratio && logs.size() == differences.size()) {
    const auto of_logs = statistics::prediction_interval(logs);
    versus.pairs.ratio->interval = {std::exp(of_logs->low), std::exp(of_logs->high)};
  }
}

// None if the arms have no seeds with times in common, or if a run without a target got stuck.
std::optional<VersusBaseline> compared(const Aggregate& arm, const Aggregate& baseline) {
  const bool has_target = arm.time_to_target.has_value();
  if (same_runs(*arm.cell, *baseline.cell) || has_target != baseline.time_to_target.has_value()) return {};
  if (!has_target && (!arm.time || !baseline.time)) return {};
  const std::vector<SeedRuns> runs = common_seeds(*arm.cell, *baseline.cell);
  if (runs.empty()) return {};
  const double long_enough =
      has_target ? std::max(arm.time_to_target->budget_s, baseline.time_to_target->budget_s) : no_limit;
  VersusBaseline versus{.values = {}, .pairs = {}, .budget_s = long_enough};
  double latest = 0;
  for (const SeedRuns& one : runs) {
    if (!has_target) {
      versus.values.push_back({one.arm.time_s, one.baseline.time_s});
      continue;
    }
    const double budget = budget_of(one, long_enough);
    versus.budget_s = std::min(versus.budget_s, budget);
    versus.values.push_back(
        {statistics::restricted_time(one.arm, budget), statistics::restricted_time(one.baseline, budget)});
    latest = std::max({latest, versus.values.back().arm, versus.values.back().baseline});
    const auto is_cut = [&](const TimedRun& run) { return !run.reached || run.time_s > budget; };
    const bool arm_cut = is_cut(one.arm), baseline_cut = is_cut(one.baseline);
    versus.cut_both += arm_cut && baseline_cut;
    versus.cut_arm += arm_cut && !baseline_cut;
    versus.cut_baseline += baseline_cut && !arm_cut;
  }
  versus.pairs = statistics::compare_pairs(versus.values, statistics::Better::smaller, resampling);
  if (latest > versus.budget_s) {
    versus.order = statistics::order_of(versus.values);
    versus.pairs.test = {.p = statistics::sign_test(*versus.order), .exact = true};
  }
  if (has_target) versus.reached = reached_by(runs);
  const bool all_alike = !arm.replicates && !baseline.replicates;
  if (runs.size() > 1 && (all_alike || is_traced(*arm.cell) || is_traced(*baseline.cell)))
    forget_chance(versus);
  else if (arm.cell->predicts() && baseline.cell->predicts()) predict(versus);
  return versus;
}

using Condition = std::vector<Aggregate*>;

const Aggregate* baseline_in(const Condition& condition, const std::string& baseline) {
  const auto found = std::ranges::find(condition, baseline, [](const Aggregate* a) { return a->cell->arm; });
  return found == condition.end() ? nullptr : *found;
}

// Whether McNemar's p can be small, given the number of seeds with which only one arm reached the target.
// This number does not depend on which arm did, so psim may leave out hopeless tests (Tarone, A modified
// Bonferroni method for discrete data, 1990).
bool can_be_significant(const ReachedByBoth& reached) {
  const std::size_t apart = reached.apart.arm + reached.apart.baseline;
  return statistics::mcnemar({.arm = apart, .baseline = 0}) <= level;
}

// Holm's correction for the tests of times and the tests of who reached the target. Two comparisons of the
// same runs (under conditions without effect on both arms) count once. The untuned rows of a study with
// [tune] only show the effect of tuning; they do not count.
void correct_for_their_number(const Study& study, Evaluation& evaluation,
                              const std::vector<Condition>& conditions) {
  struct Test {
    const Cell *arm, *baseline;
    double p;
    bool of_reached;
  };
  std::vector<Test> tests;
  std::vector<std::pair<std::optional<double>*, std::size_t>> members;
  const auto add = [&](const Test& test, std::optional<double>& into) {
    const auto same = std::ranges::find_if(tests, [&](const Test& other) {
      return other.of_reached == test.of_reached && same_runs(*other.arm, *test.arm) &&
             same_runs(*other.baseline, *test.baseline);
    });
    members.emplace_back(&into, static_cast<std::size_t>(same - tests.begin()));
    if (same == tests.end()) tests.push_back(test);
  };
  TestFamily& family = evaluation.family;
  for (const Condition& condition : conditions) {
    const Aggregate* base = baseline_in(condition, study.baseline);
    if (!study.tuning.is_null() && condition.front()->cell->condition.back() == untuned) continue;
    for (Aggregate* one : condition) {
      if (!one->versus || !one->versus->is_test()) continue;
      VersusBaseline& versus = *one->versus;
      if (!are_all_cut(versus)) add({one->cell, base->cell, versus.pairs.test.p, false}, versus.p_value_holm);
      if (versus.reached && can_be_significant(*versus.reached))
        add({one->cell, base->cell, versus.reached->p_value, true}, versus.reached->p_value_holm);
      family.seeds = family.seeds == 0 ? versus.pairs.seeds : std::min(family.seeds, versus.pairs.seeds);
    }
  }
  std::vector<double> p;
  for (const Test& test : tests) p.push_back(test.p);
  const std::vector<double> corrected = statistics::holm(p);
  for (const auto& [into, test] : members) *into = corrected[test];
  family.tests = tests.size();
  family.seeds_needed = statistics::seeds_for_holm(tests.size(), level);
}

}  // namespace

void compare_arms(const Study& study, Evaluation& evaluation) {
  const std::vector<Condition> conditions = by_condition(evaluation.aggregates);
  for (const Condition& condition : conditions) {
    const Aggregate* base = baseline_in(condition, study.baseline);
    for (Aggregate* one : condition) {
      if (base != nullptr) one->versus = compared(*one, *base);
    }
  }
  correct_for_their_number(study, evaluation, conditions);
}

bool are_all_cut(const VersusBaseline& versus) {
  return versus.reached && versus.cut_both == versus.pairs.seeds;
}

bool decides_by_reached(const VersusBaseline& versus) {
  if (!versus.reached) return false;
  const ReachedByBoth& reached = *versus.reached;
  const std::size_t seeds = versus.pairs.seeds;
  const bool all_or_none =
      (reached.arm == 0 && reached.baseline == seeds) || (reached.baseline == 0 && reached.arm == seeds);
  return all_or_none || reached.p_value <= level;
}

bool has_width(const VersusBaseline& versus) {
  return versus.pairs.ratio && versus.is_test() && !decides_by_reached(versus) &&
         2 * versus.cut_both < versus.pairs.seeds;
}

double half_width(const VersusBaseline& versus) {
  const statistics::Estimate& ratio = *versus.pairs.ratio;
  return ratio.interval.high / ratio.value - 1;
}

bool is_narrow(const VersusBaseline& versus, double asked) {
  constexpr double rounding = 1e-12;
  return half_width(versus) <= asked + rounding;
}

}  // namespace psim::analysis
