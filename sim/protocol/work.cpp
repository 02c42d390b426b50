#include "sim/protocol/work.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/mutant.hpp"
namespace psim {

std::vector<std::int64_t> share_out(std::int64_t total, const std::vector<double>& speeds) {
  std::vector<std::int64_t> shares(speeds.size(), 0);
  std::vector<std::size_t> open(speeds.size());  // whose share is at least 1 by its speed
  std::iota(open.begin(), open.end(), std::size_t{0});
  std::vector<double> quota(speeds.size());
  std::int64_t left = total;
  for (bool changed = true; changed;) {
    double sum = 0;
    for (const std::size_t i : open) sum += speeds[i];
    for (const std::size_t i : open) quota[i] = static_cast<double>(left) * (speeds[i] / sum);
    const auto too_slow = [&](std::size_t i) { return quota[i] < 1; };
    for (const std::size_t i : open) shares[i] = too_slow(i) ? 1 : shares[i];
    const auto count = static_cast<std::int64_t>(std::erase_if(open, too_slow));
    left -= count;
    changed = count > 0;
  }
  for (const std::size_t i : open) {
    shares[i] = static_cast<std::int64_t>(std::floor(quota[i]));
    left -= shares[i];
  }
  std::ranges::stable_sort(open, std::greater{},
                           [&](std::size_t i) { return quota[i] - std::floor(quota[i]); });
  for (std::size_t k = 0; left > 0; ++k, --left) ++shares[open[mutant("rest-goes-to-the-first") ? 0 : k]];
  return shares;
}

std::optional<std::vector<std::int64_t>> Balancer::report(std::size_t worker, double seconds_per_sample) {
  std::optional<double>& mean = times_[worker];
  mean = mean ? mutant("balancer-forgets") ? seconds_per_sample
                                           : smoothing_ * seconds_per_sample + (1 - smoothing_) * *mean
              : seconds_per_sample;
  reported_[worker] = true;
  if (std::ranges::find(reported_, false) != reported_.end()) return std::nullopt;
  reported_.assign(reported_.size(), false);
  const bool measurable = std::ranges::all_of(times_, [](const auto& time) { return *time > 0; });
  std::vector<double> speeds;
  for (const auto& time : times_) speeds.push_back(measurable ? 1 / *time : 1.0);
  return share_out(total_, speeds);
}

}  // namespace psim
