#include "sim/scenario/spec/network_size.hpp"

#include "sim/scenario/spec/nodes.hpp"

namespace psim {

std::int64_t fat_tree_capacity(std::int64_t ports) { return ports * ports * ports / 4; }

std::int64_t least_fat_tree_ports(std::int64_t nodes) {
  std::int64_t ports = 2;
  while (fat_tree_capacity(ports) < nodes) ports += 2;
  return ports;
}

std::int64_t fat_tree_ports(const ClusterSpec& cluster) {
  return cluster.network.ports.value_or(least_fat_tree_ports(host_count(cluster)));
}

double torus_capacity(const std::vector<std::int64_t>& dimensions) {
  double points = 1;
  for (const std::int64_t n : dimensions) points *= static_cast<double>(n);
  return points;
}

std::vector<std::int64_t> least_torus(std::int64_t nodes) {
  std::int64_t x = 1;
  while (x * x * x < nodes) ++x;
  std::int64_t y = 1;
  while (x * y * y < nodes) ++y;
  return {x, y, (nodes + x * y - 1) / (x * y)};
}

std::vector<std::int64_t> torus_dimensions(const ClusterSpec& cluster) {
  return cluster.network.dimensions.empty() ? least_torus(host_count(cluster)) : cluster.network.dimensions;
}

std::int64_t least_dragonfly_groups(const ClusterSpec& cluster) {
  const std::int64_t of_a_group = cluster.network.routers * cluster.network.hosts_per_router;
  return (host_count(cluster) + of_a_group - 1) / of_a_group;
}

std::int64_t dragonfly_groups(const ClusterSpec& cluster) {
  return cluster.network.groups.value_or(least_dragonfly_groups(cluster));
}

}  // namespace psim
