// The faults of a run: when each began and ended, which nodes it hit, and what it cost. And the speeds and
// bandwidths that faults, stragglers and profiles left.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/run_record.hpp"
#include "sim/protocol/cause.hpp"

namespace psim::analysis {

struct FaultInForce {
  std::int64_t table = 0;  // its [[fault]] in the scenario
  std::string kind;
  double begin = 0, end = 0;         // seconds; end: infinity, if the fault never ends
  double factor = 1;                 // for a speed or a bandwidth
  std::vector<std::uint32_t> nodes;  // of a partition: its smaller side; empty: all nodes, or none

  bool concerns(std::uint32_t node) const;
  double overlap(double from, double to) const;  // seconds
  bool freezes() const { return kind == "slow" && !(factor > 0); }
};

class FaultBook {
 public:
  explicit FaultBook(const RunRecord& record);
  const std::vector<FaultInForce>& all() const { return faults_; }
  // Whether the node is away at the end of the run, and no fault brings it back.
  bool is_gone(std::uint32_t node) const;
  // The fault that caused trouble in this time: the last fault that began before it and is still in force;
  // otherwise the first fault that began during it; otherwise the last fault before it.
  const FaultInForce* behind(double from, double to) const;

  // The run without the fault of this table, or without all of them; none: it was not made.
  struct Without {
    double end = 0;  // seconds
    std::int64_t updates = 0;
  };
  std::optional<Without> without(std::optional<std::int64_t> table) const;

 private:
  std::vector<FaultInForce> faults_;
  std::map<std::optional<std::int64_t>, Without> without_;
};

// What faults, stragglers and profiles together left of each node's speed and bandwidth.
class Rates {
 public:
  explicit Rates(const RunRecord& record);

  // The mean factor over [from, to].
  double mean(Quantity quantity, std::uint32_t node, double from, double to) const;
  // The smallest factor before this date.
  double least(Quantity quantity, std::uint32_t node, double until) const;
  // Seconds by which messages that the node sends or gets at this date come later.
  double latency(std::uint32_t node, double at) const { return value(Quantity::latency, node, at); }

  // When a node was slower, or its links narrower: the longest time with one factor.
  struct Reduction {
    double begin = 0, end = 0, factor = 1;
    bool is_most = true;  // false: there were other times and factors, which together lasted longer
  };
  // Before `until`; freezes do not count.
  std::optional<Reduction> longest(Quantity quantity, std::uint32_t node, double until) const;

 private:
  using Steps = std::vector<std::pair<double, double>>;  // date, value from then on
  const Steps& of(Quantity quantity, std::uint32_t node) const;
  double value(Quantity quantity, std::uint32_t node, double at) const;
  std::map<std::pair<Quantity, std::uint32_t>, Steps> steps_;
};

// "the crash of server 1 at 2 s", "the partition of worker 1 from 1 s to 3 s",
// "the freeze of server 1, 6 times from 500 ms on,"
std::string fault_text(const FaultInForce& fault, std::int64_t times, const Facts& facts, double total);

}  // namespace psim::analysis
