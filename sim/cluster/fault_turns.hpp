// When a fault happens: the dated turns of one [[fault]] table. Pure functions of scenario and seed; no
// SimGrid.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "sim/scenario/spec/faults.hpp"

namespace psim {

// One time that a fault happens. `end`: when a window is over or a crashed node restarts; infinite: never.
struct FaultTurn {
  double begin = 0;
  double end = HUGE_VAL;
  bool operator==(const FaultTurn&) const = default;
};

class FaultTurns {
 public:
  // `table`: place among the scenario's faults. `node`: whose turns they are; matters with `mtbf` only, where
  // every node has failures of its own.
  FaultTurns(FaultSpec spec, std::uint64_t seed, std::uint64_t table, std::uint32_t node);

  // The turns in order; none when there are no more. None at all for a fault that waits for a condition.
  std::optional<FaultTurn> next();
  // Whether there is no last one.
  bool for_ever() const { return spec_.every || spec_.mtbf; }

  // A turn that begins now.
  static FaultTurn from(const FaultSpec& spec, double now);

 private:
  FaultSpec spec_;
  std::uint64_t seed_, table_;
  std::uint32_t node_;
  std::uint64_t turn_ = 0;
  double well_ = 0;  // mtbf: since when the node has been well
};

}  // namespace psim
