// Which arm of a condition is the fastest one, and which the slowest.
#pragma once

#include <vector>

#include "analysis/study/study.hpp"

namespace psim::analysis {

// The mean time of an arm that has one (known_times), in seconds.
double seconds_of(const Aggregate* one);
std::vector<const Aggregate*> known_times(const std::vector<const Aggregate*>& arms);

// Until when all times of an arm are known: its budget, where a run missed the target within it.
double known_until(const Aggregate& one);

// Seconds that an arm needs on average, of the first `tau`.
double mean_up_to(const Aggregate& one, double tau);

// By the means up to the date until which both arms' times are known: a mean of a short budget is short.
bool is_faster(const Aggregate& one, const Aggregate& other);

// The arm of these that is called the fastest: of those that learned as much as any other, and reached the
// target under at least half of their seeds. If there are none, of those that reached it most often. Among
// equals: the arm that is faster than most of the others.
const Aggregate& fastest_of(const std::vector<const Aggregate*>& known);

// The arm that is faster than the fewest of the others.
const Aggregate& slowest_of(const std::vector<const Aggregate*>& known);

}  // namespace psim::analysis
