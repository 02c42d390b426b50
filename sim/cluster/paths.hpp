// The paths of messages through a topology; the same on every machine.
#pragma once

#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/stations.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/scenario/spec/scenario.hpp"

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

// The used routes of a platform. SimGrid's Full zone has a table of all pairs of hosts, which would be most
// of the memory of a run with a thousand workers, although workers talk only to servers.
class RouteTable final : public simgrid::kernel::routing::NetZoneImpl {
 public:
  using Links = std::vector<const simgrid::s4u::Link*>;  // in the order in which they are crossed, sealed

  // The zone of the whole platform; the engine owns it.
  static RouteTable* make(const std::string& name);

  void add(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to, const Links& links);

  // The route's latency, in the unit of its links' latencies; 0 without a route.
  double latency(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to) const;

  // The bandwidth of the last shared link of a route with latency, in bytes per second and without faults. 0
  // if there is no such link.
  double port_bandwidth(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to) const;

  // Flows that begin from now on have this multiple of their routes' latency.
  void scale_latency(double factor) { latency_factor_ = factor; }

 private:
  using NetPoint = simgrid::kernel::routing::NetPoint;
  using Route = simgrid::kernel::routing::Route;
  explicit RouteTable(const std::string& name) : NetZoneImpl(name) {}
  void get_local_route(const NetPoint* from, const NetPoint* to, Route* into, double* latency) override;

  static std::uint64_t key(const NetPoint* from, const NetPoint* to);

  struct Crossed {
    std::vector<simgrid::kernel::resource::StandardLinkImpl*> links = {};
    double latency = 0, port_bandwidth = 0;  // seconds; bytes per second, of the last link that is shared
  };
  std::map<std::uint64_t, Crossed> routes_;  // by the numbers of both ends
  double latency_factor_ = 1;
};

// The stations of the links, and the routes of messages over them, for any topology or a platform file.
// Routes are computed on request, because the routes of all pairs of ten thousand nodes would fill the
// memory.
class Wiring {
 public:
  Wiring(const NetworkSpec& network, Topology topology);
  Wiring(const Wiring&) = delete;  // paths_ refers to topology_
  Wiring& operator=(const Wiring&) = delete;

  struct Way {
    Stations::Path stations = {};
    double latency = 0;   // seconds
    double slowness = 0;  // seconds per byte, summed over all links
    double limit = 0;     // bytes per second of the slowest link without a queue; 0: none
  };
  Way way(std::uint32_t from, std::uint32_t to);

  const std::vector<double>& bandwidths() const { return bandwidths_; }  // bytes per second, by station
  double least_latency() const { return least_latency_; }                // seconds; at most that of any route
  const std::vector<std::uint32_t>& own(std::uint32_t node) const { return own_[node]; }  // stations

 private:
  void read_file();
  Way way_of_file(std::uint32_t from, std::uint32_t to) const;

  const PlatformFile* file_ = nullptr;
  Topology topology_;
  Paths paths_;
  std::vector<double> bandwidths_;
  std::vector<std::vector<std::uint32_t>> own_;                  // by node; unknown for a file
  std::vector<std::pair<std::uint64_t, std::uint32_t>> routes_;  // of a file: by both ends, rising
  double least_latency_ = 0;
};

}  // namespace psim
