// The wiring of the nodes: a graph of hosts, switches and links of any shape. The platform is built from it
// (platform.cpp), with paths (paths.hpp) between the pairs that talk to each other.
//
// Only pairs that talk get a route (talks, sim/scenario/spec/nodes.hpp). In a star and in two tiers there is
// only one path. A graph of the scenario uses shortest paths: fewest hops, then least latency, then the
// lowest vertex, then the lowest link. Boost.Graph computes only the distances, because its heap decides
// which of equal paths it finds. The other shapes route as in their papers: D-mod-k in the fat tree,
// dimension order in the torus, minimal routes in the dragonfly.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/record/link_map.hpp"
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
  // The vertex after `at` on the route to host `to`, if the shape has its own routing. Otherwise paths are
  // the shortest.
  std::function<std::uint32_t(std::uint32_t at, std::uint32_t to)> next = {};
};

// For every kind except simgrid-xml: there the platform file defines the routes.
Topology make_topology(const ClusterSpec& cluster);

Topology fat_tree(const ClusterSpec& cluster);
Topology torus(const ClusterSpec& cluster);
Topology dragonfly(const ClusterSpec& cluster);

// The links that a run records: a function of the scenario, equal for both models of the network.

// The map has the routes of the pairs of nodes in `connections`.
LinkMap make_link_map(const Scenario& scenario, const Connections& connections);

}  // namespace psim
