#include "analysis/links/link_owners.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace psim::analysis {

LinkOwners::LinkOwners(const RunRecord& record, const Traffic& traffic, const FaultBook& faults)
    : faults_(faults) {
  std::map<std::string, std::uint32_t> node_of;
  for (std::uint32_t node = 0; node < record.names.size(); ++node) node_of[record.names[node]] = node;
  const std::vector<Link>& links = traffic.lone.links();
  for (const Link& link : links) {
    auto owner = node_of.find(link.name);  // "worker 3", or "worker 3 up"
    if (owner == node_of.end()) owner = node_of.find(link.name.substr(0, link.name.rfind(' ')));
    owners_.emplace_back();
    if (owner != node_of.end()) owners_.back().push_back(owner->second);
  }
  // The links of a host: the first link of every message that its nodes send, and the last link of every
  // message that they receive.
  const auto attach = [&](std::uint32_t link, std::uint32_t node) {
    std::vector<std::uint32_t>& owners = owners_[link];
    const bool is_in = std::ranges::find(owners, node) != owners.end();
    if (links[link].name.starts_with("host ") && !is_in) owners.push_back(node);
  };
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const Transfer& t : traffic.transfers) {
    if (!seen.emplace(t.from, t.to).second) continue;
    const std::vector<std::uint32_t> way = traffic.lone.way(t.from, t.to);
    if (way.empty()) continue;
    attach(way.front(), t.from);
    attach(way.back(), t.to);
  }
  for (std::vector<std::uint32_t>& owners : owners_) std::ranges::sort(owners);
}

// A fault of a host is recorded once for each of its nodes.
double LinkOwners::left(std::uint32_t link, double from, double to) const {
  double least = 1;
  for (const std::uint32_t node : owners_[link])
    least = std::min(least, faults_.factor("degrade", node, from, to));
  return least;
}

}  // namespace psim::analysis
