// The faults of a run: when each began and ended, and which nodes it hit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/run_record.hpp"

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
  // The share of a node's bandwidth ("degrade") or speed ("slow") that faults left for most of [from, to].
  // Freezes do not count.
  double factor(std::string_view kind, std::uint32_t node, double from, double to) const;
  // The fault that caused trouble in this time: the last fault that began before it and is still in force;
  // otherwise the first fault that began during it; otherwise the last fault before it.
  const FaultInForce* behind(double from, double to) const;

 private:
  std::vector<FaultInForce> faults_;
};

// "the crash of server 1 at 2 s", "the partition of worker 1 from 1 s to 3 s",
// "the freeze of server 1, 6 times from 500 ms on,"
std::string fault_text(const FaultInForce& fault, std::int64_t times, const Facts& facts, double total);

}  // namespace psim::analysis
