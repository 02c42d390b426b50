// Sizes of topologies with a fixed shape: the scenario's value, or the smallest size with room for all nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Ports of a fat tree's switches.
std::int64_t fat_tree_ports(const ClusterSpec& cluster);
std::int64_t fat_tree_capacity(std::int64_t ports);
std::int64_t least_fat_tree_ports(std::int64_t nodes);

// Points along each dimension of a torus.
std::vector<std::int64_t> torus_dimensions(const ClusterSpec& cluster);
double torus_capacity(const std::vector<std::int64_t>& dimensions);
std::vector<std::int64_t> least_torus(std::int64_t nodes);

// Groups of a dragonfly.
std::int64_t dragonfly_groups(const ClusterSpec& cluster);
std::int64_t least_dragonfly_groups(const ClusterSpec& cluster);

}  // namespace psim
