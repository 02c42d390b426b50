#include "sim/scenario/spec/faults.hpp"

#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

std::vector<bool> members(const ClusterSpec& cluster, const std::vector<std::string>& names) {
  const auto servers = static_cast<std::uint32_t>(cluster.servers);
  std::vector<bool> in(node_count(cluster), false);
  const auto add = [&in](std::uint32_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) in[static_cast<std::size_t>(first + i)] = true;
  };
  for (const std::string& name : names) {
    if (name == "all") add(0, node_count(cluster));
    else if (name == "servers") add(1, cluster.servers);
    else if (name == "workers") add(1 + servers, cluster.workers);
    else if (const std::optional<std::uint32_t> node = node_named(cluster, name)) in[*node] = true;
    else if (const std::optional<std::uint32_t> host = host_named(cluster, name)) {
      for (const std::uint32_t one : nodes_on(cluster, *host)) in[one] = true;
    }
  }
  return in;
}

std::vector<std::uint32_t> listed(const std::vector<bool>& in) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = 0; node < in.size(); ++node) {
    if (in[node]) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

bool may_lose(const FaultSpec& fault) {
  return !fault.kind->loses_nothing || !(fault.factor.value_or(0) > 0);
}

bool names_several_nodes(std::string_view name) {
  return name == "all" || name == "servers" || name == "workers";
}

std::vector<std::uint32_t> fault_nodes(const ClusterSpec& cluster, const std::vector<std::string>& names) {
  return listed(members(cluster, names));
}

std::array<std::vector<std::uint32_t>, 2> fault_sides(const ClusterSpec& cluster,
                                                      const std::vector<std::vector<std::string>>& between) {
  const std::vector<std::string> rest{"rest"};
  std::array<std::vector<bool>, 2> sides{members(cluster, between[0]), members(cluster, between[1])};
  for (std::size_t side = 0; side < 2; ++side) {
    if (between[side] != rest) continue;
    sides[side] = sides[1 - side];
    sides[side].flip();
  }
  return {listed(sides[0]), listed(sides[1])};
}

}  // namespace psim
