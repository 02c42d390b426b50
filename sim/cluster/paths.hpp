// The paths of messages through a topology; the same on every machine.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/cluster/topology.hpp"

namespace psim {

// One step of a path: link `link`, from its end `a` to `b` or the other way.
struct Hop {
  std::uint32_t link;
  bool forward;
};

// The shortest-path tree from every vertex to `root`: fewest hops, then least latency. Among equal paths it
// takes the path through the lowest vertex, then the lowest link.
class PathTree {
 public:
  PathTree(const Topology& topology, std::uint32_t root);
  std::vector<Hop> path_from(std::uint32_t vertex) const;

 private:
  const Topology& topology_;
  std::uint32_t root_;
  std::vector<std::uint32_t> link_towards_root_;
};

// Paths between hosts: by the topology's own routing, or shortest paths. Shortest paths are the same in both
// directions.
class Paths {
 public:
  explicit Paths(const Topology& topology);
  std::vector<Hop> between(std::uint32_t from, std::uint32_t to);

 private:
  std::vector<Hop> routed(std::uint32_t from, std::uint32_t to) const;

  const Topology& topology_;
  // Only if the topology has its own routing: the links by their lower end, and the first link of each.
  std::vector<std::uint32_t> links_, first_;
  std::map<std::uint32_t, PathTree> trees_;  // by root: the requested trees
};

}  // namespace psim
