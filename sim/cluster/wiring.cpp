#include "sim/cluster/wiring.hpp"

#include <algorithm>
#include <limits>

namespace psim {
namespace {

std::uint64_t pair_of(std::uint32_t from, std::uint32_t to) { return (std::uint64_t{from} << 32U) | to; }

}  // namespace

Wiring::Wiring(const NetworkSpec& network, Topology topology)
    : topology_(std::move(topology)), paths_(topology_) {
  least_latency_ = std::numeric_limits<double>::infinity();
  own_.resize(topology_.hosts);
  for (std::uint32_t i = 0; i < topology_.links.size(); ++i) {
    const TopologyLink& link = topology_.links[i];
    bandwidths_.insert(bandwidths_.end(), 2, link.bandwidth);  // there and back
    least_latency_ = std::min(least_latency_, link.latency);
    for (const std::uint32_t end : {link.a, link.b}) {
      if (end < topology_.hosts) own_[end].insert(own_[end].end(), {2 * i, 2 * i + 1});
    }
  }
  if (network.topology == TopologyKind::simgrid_xml) {
    file_ = &network.platform_file;
    read_file();
  }
  if (bandwidths_.empty()) least_latency_ = 0;
}

void Wiring::read_file() {
  for (const PlatformFile::Link& link : file_->links) bandwidths_.push_back(link.bandwidth);
  for (std::uint32_t i = 0; i < file_->routes.size(); ++i) {
    const PlatformFile::Route& route = file_->routes[i];
    routes_.emplace_back(pair_of(route.from, route.to), i);
    least_latency_ = std::min(least_latency_, route.latency);
  }
  std::ranges::sort(routes_);
}

Wiring::Way Wiring::way_of_file(std::uint32_t from, std::uint32_t to) const {
  Way way;
  const auto found = std::ranges::lower_bound(routes_, std::pair{pair_of(from, to), 0U});
  const PlatformFile::Route& route = file_->routes[found->second];
  way.latency = route.latency;
  for (const std::uint32_t number : route.links) {
    const PlatformFile::Link& link = file_->links[number];
    way.slowness += 1 / link.bandwidth;
    if (!link.fat_pipe) way.stations.push_back(number);
    else way.limit = way.limit > 0 ? std::min(way.limit, link.bandwidth) : link.bandwidth;
  }
  return way;
}

Wiring::Way Wiring::way(std::uint32_t from, std::uint32_t to) {
  if (file_ != nullptr) return way_of_file(from, to);
  Way way;
  for (const Hop& hop : paths_.between(from, to)) {
    const TopologyLink& link = topology_.links[hop.link];
    way.stations.push_back(2 * hop.link + (hop.forward ? 0 : 1));
    way.latency += link.latency;
    way.slowness += 1 / link.bandwidth;
  }
  return way;
}

}  // namespace psim
