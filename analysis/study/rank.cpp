// Ranks arms: which are worse in everything, and which are near the best under most conditions.
#include <algorithm>
#include <array>
#include <limits>

#include "analysis/study/figures.hpp"
#include "analysis/study/study.hpp"

namespace psim::analysis {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// The time of an arm in a ranking: the median of its seeds, infinite if fewer than half of them reached the
// target; without a target the mean, infinite if a run learned nothing.
double ranked_time(const Aggregate& one) {
  if (one.time_to_target) return one.time_to_target->median_s.value_or(infinite);
  return one.time && !one.fails() ? one.time->mean : infinite;
}

// A mean that some runs lack counts as the worst value: a mean over the other runs would favour arms that
// diverge.
double mean_or(const Aggregate& one, const char* key, double worst) {
  const Statistic* found = one.measure(key);
  return found == nullptr || found->n < one.n ? worst : found->mean;
}

// With a target all arms stop at the same quality, so final accuracy is only noise around the target.
void find_front(const std::vector<Aggregate*>& condition) {
  using statistics::Better;
  constexpr std::array<Better, 3> columns{Better::smaller, Better::smaller, Better::larger};
  std::vector<std::vector<double>> rows;
  for (const Aggregate* one : condition)
    rows.push_back({ranked_time(*one), mean_or(*one, "bytes_sent", infinite),
                    one->time_to_target ? 0 : mean_or(*one, "final_accuracy", -infinite)});
  const std::vector<bool> front = statistics::pareto_front(rows, columns);
  for (std::size_t i = 0; i < condition.size(); ++i)
    condition[i]->pareto = front[i] && (condition[i]->time_to_target || !condition[i]->fails());
}

// The measure of final quality, and the smallest difference that matters.
struct Quality {
  const char* key;
  bool is_better_large;
  double (*least)(double best);
};
constexpr Quality qualities[] = {
    {"final_accuracy", true, [](double) { return 0.01; }},
    {"final_loss", false, [](double best) { return 0.1 * best; }},
};

// How much worse each seed of `one` is than the same seed of `best`.
std::vector<double> shortfalls(const Cell& one, const Cell& best, const Quality& quality) {
  const Measure& measure = *std::ranges::find_if(
      measures(), [&](const Measure& m) { return std::string_view(m.key) == quality.key; });
  std::vector<double> result;
  for (const StudyRun& run : one.runs) {
    const auto other = std::ranges::find(best.runs, run.seed, &StudyRun::seed);
    if (other == best.runs.end()) continue;
    const Json mine = value_of(measure, run.summary), theirs = value_of(measure, other->summary);
    if (!mine.is_number() || !theirs.is_number()) return {};
    const double less = theirs.get<double>() - mine.get<double>();
    result.push_back(quality.is_better_large ? less : -less);
  }
  return result;
}

bool is_clearly_worse(const Aggregate& one, const Aggregate& best, const Quality& quality) {
  if (one.measure(quality.key) == nullptr || one.measure(quality.key)->n < one.n) return true;
  const std::vector<double> less = shortfalls(*one.cell, *best.cell, quality);
  if (less.empty() || statistics::mean_of(less) <= quality.least(best.measure(quality.key)->mean))
    return false;
  const auto interval = statistics::student_interval(less);
  return !interval || interval->low > 0;
}

// Which arms learn clearly less or more than the baseline.
void compare_quality(const std::vector<Aggregate*>& condition, const std::string& baseline) {
  const auto base =
      std::ranges::find(condition, baseline, [](const Aggregate* one) { return one->cell->arm; });
  for (const Quality& quality : qualities) {
    for (Aggregate* one : condition) {
      if (base == condition.end() || !one->versus || one->time_to_target || one->versus->learns != 0)
        continue;
      const bool mine = one->measure(quality.key) != nullptr,
                 theirs = (*base)->measure(quality.key) != nullptr;
      if (theirs && is_clearly_worse(*one, **base, quality)) one->versus->learns = -1;
      else if (mine && is_clearly_worse(**base, *one, quality)) one->versus->learns = 1;
    }
  }
}

void find_clearly_worse(const std::vector<Aggregate*>& condition) {
  for (const Quality& quality : qualities) {
    const Aggregate* best = nullptr;
    for (const Aggregate* one : condition) {
      const Statistic* value = one->measure(quality.key);
      if (one->time_to_target || value == nullptr || value->n < one->n) continue;
      const double ahead = best == nullptr ? 1 : value->mean - best->measure(quality.key)->mean;
      if (best == nullptr || (quality.is_better_large ? ahead > 0 : ahead < 0)) best = one;
    }
    if (best == nullptr) continue;
    for (Aggregate* one : condition) {
      if (one != best && one->better == nullptr && !one->time_to_target &&
          is_clearly_worse(*one, *best, quality))
        one->better = best;
    }
  }
}

}  // namespace

void rank(const Study& study, Evaluation& evaluation) {
  const std::vector<std::string> arms = arms_of(study);
  std::vector<std::vector<double>> times(arms.size());
  for (const std::vector<Aggregate*>& condition : by_condition(evaluation.aggregates)) {
    find_front(condition);
    find_clearly_worse(condition);
    compare_quality(condition, study.baseline);
    evaluation.unequal_quality =
        evaluation.unequal_quality || std::ranges::any_of(condition, [](const Aggregate* one) {
          return one->better != nullptr || (!one->time_to_target && one->fails());
        });
    if (condition.size() < arms.size()) continue;  // the study is not complete
    if (!study.tuning.is_null() && condition.front()->cell->condition.back() == untuned) continue;
    for (const Aggregate* one : condition)
      times[static_cast<std::size_t>(std::ranges::find(arms, one->cell->arm) - arms.begin())].push_back(
          ranked_time(*one));
  }
  const bool positive = std::ranges::all_of(times, [](const std::vector<double>& own) {
    return std::ranges::all_of(own, [](double t) { return t > 0; });
  });
  if (arms.size() < 2 || times.front().size() < 2 || !positive || evaluation.unequal_quality) return;
  std::vector<statistics::Profile> profiles = statistics::performance_profiles(times);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const double score = statistics::profile_score(profiles[i]);
    evaluation.profiles.push_back({arms[i], std::move(profiles[i]), score});
  }
}

}  // namespace psim::analysis
