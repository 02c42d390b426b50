// Many arms under many conditions: how near the times of each arm are to the best times, and which arms are
// worse in everything.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/statistics/sample.hpp"

namespace psim::statistics {

// Dolan and More, Benchmarking optimization software with performance profiles, 2002. The times of one arm,
// divided by the best time under the same condition, in ascending order; infinite if the arm missed the
// target.
struct Profile {
  std::vector<double> ratios;
};

// times[arm][condition], positive, infinite for a miss; a condition that all arms miss counts as a miss for
// each. Throws std::invalid_argument for arms with unequal numbers of conditions.
std::vector<Profile> performance_profiles(const std::vector<std::vector<double>>& times);

// rho(tau): the share of conditions with a ratio of at most tau.
double share_within(const Profile& profile, double tau);

// Area under rho from 1 to r_max, divided by r_max - 1: 1 is best under every condition, 0 is never within
// r_max of the best (Dahl et al., Benchmarking neural network training algorithms, 2023).
double profile_score(const Profile& profile, double r_max = 4);

// rows[arm][column]: true for arms that no other arm beats. An arm beats another if it is at least as good in
// every column and better in one. Equal rows stay. Values may be infinite; NaN throws std::invalid_argument.
std::vector<bool> pareto_front(const std::vector<std::vector<double>>& rows, std::span<const Better> columns);

}  // namespace psim::statistics
