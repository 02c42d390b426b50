// Many arms under many conditions: whose times are near the best ones, and which arms are beaten in
// everything.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/statistics/significance.hpp"

namespace psim::statistics {

// Dolan and More, Benchmarking optimization software with performance profiles, 2002. One arm's times divided
// by the best arm's under the same condition, in ascending order; infinite where it missed the target.
struct Profile {
  std::vector<double> ratios;
};

// times[arm][condition], positive, infinite for a miss; a condition that all arms miss is a miss of each.
// Throws std::invalid_argument for arms with unequal numbers of conditions.
std::vector<Profile> performance_profiles(const std::vector<std::vector<double>>& times);

// rho(tau): the share of conditions with a ratio of at most tau.
double share_within(const Profile& profile, double tau);

// Area under rho from 1 to r_max, divided by r_max - 1: 1 is best under every condition, 0 is never within
// r_max of the best (Dahl et al., Benchmarking neural network training algorithms, 2023).
double profile_score(const Profile& profile, double r_max = 4);

// rows[arm][column]: true for the arms that no other one beats, which is to be as good in every column and
// better in one. Equal rows are kept. Values may be infinite; NaN throws std::invalid_argument.
std::vector<bool> pareto_front(const std::vector<std::vector<double>>& rows, std::span<const Better> columns);

}  // namespace psim::statistics
