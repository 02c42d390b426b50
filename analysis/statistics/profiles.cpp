#include "analysis/statistics/profiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace psim::statistics {
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
