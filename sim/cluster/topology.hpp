// How the nodes are wired: a graph of hosts, switches and links, whatever its shape. The platform is
// built from it (platform.cpp), with paths (paths.hpp) between the pairs that talk to each other.
//
// Only pairs that talk get a route (talks, sim/scenario/spec/nodes.hpp). A star and two tiers have one way
// only. A graph of one's own takes shortest paths: fewest hops, then least latency, then the lowest vertex,
// then the lowest link. Boost.Graph gives the distances only, because which of equal ways it finds depends on
// its heap. The other shapes route as their papers say: D-mod-k in the fat tree, dimension order in the
// torus, minimal routes in the dragonfly.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

struct TopologyLink {
  std::uint32_t a, b;  // vertices
  double bandwidth;    // bytes per second, each way
  double latency;      // seconds, one way
};

// Vertices 0..hosts-1 are the machines of the nodes (scheduler, servers, workers); the rest are switches.
struct Topology {
  std::uint32_t hosts = 0;
  std::uint32_t vertices = 0;
  std::vector<TopologyLink> links;
  // The vertex after `at` on the way to host `to`, where the shape has a routing of its own; without it,
  // paths are the shortest.
  std::function<std::uint32_t(std::uint32_t at, std::uint32_t to)> next = {};
};

// For every kind but simgrid-xml, whose routes the platform file gives.
Topology make_topology(const ClusterSpec& cluster);

// shapes.cpp
Topology fat_tree(const ClusterSpec& cluster);
Topology torus(const ClusterSpec& cluster);
Topology dragonfly(const ClusterSpec& cluster);

}  // namespace psim
