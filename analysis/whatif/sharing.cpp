#include "analysis/whatif/sharing.hpp"

#include <limits>

#include "model/mutant.hpp"

namespace psim::analysis {
namespace {

constexpr double without_limit = std::numeric_limits<double>::infinity();
// Bytes per second where nothing limits a message; it has as little to carry as it takes time.
constexpr double very_fast = 1e18;

}  // namespace

std::uint32_t Ways::number_of(std::uint32_t from, std::uint32_t to) {
  const auto [known, is_new] =
      numbers_.emplace(std::pair(from, to), static_cast<std::uint32_t>(ways_.size()));
  if (!is_new) return known->second;
  Way way{
      .links = {}, .latency = lone_.latency(from, to), .bandwidth = without_limit, .window = without_limit};
  for (const std::uint32_t link : lone_.way(from, to)) {
    way.bandwidth = std::min(way.bandwidth, lone_.links()[link].bandwidth);
    if (lone_.links()[link].is_shared) way.links.push_back(link);
  }
  if (way.latency > 0) way.window = lone_.window() / way.latency;
  ways_.push_back(std::move(way));
  return known->second;
}

double Ways::rate(std::uint32_t way, double bandwidth, double latency) const {
  const Way& one = ways_[way];
  const double window = latency > 0 ? one.window / latency : without_limit;
  return std::min({bandwidth * one.bandwidth, window, very_fast});
}

Sharing::Sharing(const Ways& ways, double bandwidth, double latency)
    : ways_(ways), bandwidth_(bandwidth), latency_(latency), on_(ways.link_count()) {}

double Sharing::rate_of(std::uint32_t way) const {
  double rate = ways_.rate(way, bandwidth_, latency_);
  if (mutant("nobody-shares-a-link")) return rate;
  for (const std::uint32_t link : ways_.links(way))
    rate = std::min(rate, bandwidth_ * ways_.link(link).bandwidth / static_cast<double>(on_[link].size()));
  return rate;
}

}  // namespace psim::analysis
