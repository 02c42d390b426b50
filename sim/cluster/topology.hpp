// How the nodes are wired: a graph of hosts, switches and links, whatever its shape. The platform is
// built from it (platform.cpp), with shortest paths between the pairs that talk to each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace psim {

struct TopologyLink {
  std::uint32_t a, b;  // vertices
  double bandwidth;    // bytes per second, each way
  double latency;      // seconds, one way
};

// Vertices 0..hosts-1 are the nodes (scheduler, servers, workers); the rest are switches.
struct Topology {
  std::uint32_t hosts = 0;
  std::uint32_t vertices = 0;
  std::vector<TopologyLink> links;
};

Topology make_topology(const ClusterSpec& cluster);

// One step of a path: link `link`, from its end `a` to `b` or the other way.
struct Hop {
  std::uint32_t link;
  bool forward;
};

// Fewest hops, then least latency, from every vertex to `root`, by one shortest-path tree.
class PathTree {
 public:
  PathTree(const Topology& topology, std::uint32_t root);
  std::vector<Hop> path_from(std::uint32_t vertex) const;

 private:
  const Topology& topology_;
  std::uint32_t root_;
  std::vector<std::uint32_t> link_towards_root_;
};

}  // namespace psim
