// The fastest and the slowest arm of a condition.
#pragma once

#include <vector>

#include "analysis/study/study.hpp"

namespace psim::analysis {

// The mean time of an arm in seconds. The arm must have one (known_times).
double seconds_of(const Aggregate* one);
std::vector<const Aggregate*> known_times(const std::vector<const Aggregate*>& arms);

// The date up to which all times of an arm are known: its budget, if a run missed the target.
double known_until(const Aggregate& one);

// Mean seconds of an arm, each run counted up to `tau`.
double mean_up_to(const Aggregate& one, double tau);

// Compares means up to the date until which the times of both arms are known: otherwise a short budget would
// look like a short time.
bool is_faster(const Aggregate& one, const Aggregate& other);

// The arm that psim calls the fastest. Candidates learned as much as any other arm and reached the target
// with at least half of their seeds. Without candidates: the arms that reached the target most often. Among
// these the winner is faster than the most others.
const Aggregate& fastest_of(const std::vector<const Aggregate*>& known);

// The arm that is faster than the fewest of the others.
const Aggregate& slowest_of(const std::vector<const Aggregate*>& known);

}  // namespace psim::analysis
