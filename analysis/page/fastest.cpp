#include "analysis/page/fastest.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "analysis/statistics/time_to_target.hpp"

namespace psim::analysis {

double seconds_of(const Aggregate* one) {
  return one->time_to_target ? one->time_to_target->restricted_mean_s : one->time->mean;
}

std::vector<const Aggregate*> known_times(const std::vector<const Aggregate*>& arms) {
  std::vector<const Aggregate*> known;
  std::ranges::copy_if(arms, std::back_inserter(known),
                       [](const Aggregate* one) { return one->time_to_target || one->time; });
  return known;
}

double known_until(const Aggregate& one) {
  const bool is_cut = one.time_to_target && one.time_to_target->cut > 0;
  return is_cut ? one.time_to_target->budget_s : std::numeric_limits<double>::infinity();
}

double mean_up_to(const Aggregate& one, double tau) {
  std::vector<statistics::TimedRun> runs;
  for (const StudyRun& run : one.cell->runs) runs.push_back(timed(run));
  const auto mean = statistics::restricted_mean(statistics::kaplan_meier(runs), tau);
  return mean ? mean->mean_s : seconds_of(&one);
}

bool is_faster(const Aggregate& one, const Aggregate& other) {
  const double until = std::min(known_until(one), known_until(other));
  if (std::isinf(until)) return seconds_of(&one) < seconds_of(&other);
  return mean_up_to(one, until) < mean_up_to(other, until);
}

namespace {

// The number of other arms that are slower than this arm.
std::ptrdiff_t wins(const Aggregate* one, const std::vector<const Aggregate*>& others) {
  return std::ranges::count_if(others, [&](const Aggregate* other) { return is_faster(*one, *other); });
}

}  // namespace

const Aggregate& fastest_of(const std::vector<const Aggregate*>& known) {
  const auto rank = [&](const Aggregate* one) {
    const double reached = static_cast<double>(one->reached) / static_cast<double>(one->n);
    return std::tuple(one->better != nullptr || (!one->time_to_target && one->fails()),
                      !one->time_to_target || reached >= 0.5 ? 0 : 1 - reached, -wins(one, known),
                      seconds_of(one));
  };
  return **std::ranges::min_element(known, {}, rank);
}

const Aggregate& slowest_of(const std::vector<const Aggregate*>& known) {
  return **std::ranges::max_element(
      known, {}, [&](const Aggregate* one) { return std::pair(-wins(one, known), seconds_of(one)); });
}

}  // namespace psim::analysis
