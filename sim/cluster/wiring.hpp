// The stations of the links, and the routes of messages over them, for any topology or a platform file.
// Routes are computed on request, because the routes of all pairs of ten thousand nodes would fill the
// memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/cluster/paths.hpp"
#include "sim/cluster/stations.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

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
