// Arms in order: who is beaten in everything, and who is near the best under most conditions.
#include <algorithm>
#include <array>
#include <limits>

#include "analysis/study/study.hpp"

namespace psim::analysis {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// What an arm's time under a condition is in a ranking: the median of its seeds, infinite where fewer than
// half of them reached the target; without a target the mean.
double ranked_time(const Aggregate& one) {
  if (one.time_to_target) return one.time_to_target->median_s.value_or(infinite);
  return one.time ? one.time->mean : infinite;
}

double mean_time(const Aggregate& one) {
  if (one.time_to_target) return one.time_to_target->restricted_mean_s;
  return one.time ? one.time->mean : infinite;
}

// What not all runs have is as bad as can be: a mean over the others would favour those that diverge.
double mean_or(const Aggregate& one, const char* key, double worst) {
  const Statistic* found = one.measure(key);
  return found == nullptr || found->n < one.n ? worst : found->mean;
}

void find_front(const std::vector<Aggregate*>& condition) {
  using statistics::Better;
  constexpr std::array<Better, 3> columns{Better::smaller, Better::smaller, Better::larger};
  std::vector<std::vector<double>> rows;
  for (const Aggregate* one : condition)
    rows.push_back(
        {mean_time(*one), mean_or(*one, "bytes_sent", infinite), mean_or(*one, "final_accuracy", -infinite)});
  const std::vector<bool> front = statistics::pareto_front(rows, columns);
  for (std::size_t i = 0; i < condition.size(); ++i) condition[i]->pareto = front[i];
}

}  // namespace

void rank(const Study& study, Evaluation& evaluation) {
  std::vector<std::string> arms;
  for (const Cell& cell : study.cells) {
    if (std::ranges::find(arms, cell.arm) == arms.end()) arms.push_back(cell.arm);
  }
  std::vector<std::vector<double>> times(arms.size());
  for (const std::vector<Aggregate*>& condition : by_condition(evaluation.aggregates)) {
    find_front(condition);
    if (condition.size() < arms.size()) continue;  // of a study that is not complete
    if (!study.tuning.is_null() && condition.front()->cell->condition.back() == untuned) continue;
    for (const Aggregate* one : condition)
      times[static_cast<std::size_t>(std::ranges::find(arms, one->cell->arm) - arms.begin())].push_back(
          ranked_time(*one));
  }
  const bool positive = std::ranges::all_of(times, [](const std::vector<double>& own) {
    return std::ranges::all_of(own, [](double t) { return t > 0; });
  });
  if (arms.size() < 2 || times.front().size() < 2 || !positive) return;
  std::vector<statistics::Profile> profiles = statistics::performance_profiles(times);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const double score = statistics::profile_score(profiles[i]);
    evaluation.profiles.push_back({arms[i], std::move(profiles[i]), score});
  }
}

}  // namespace psim::analysis
