// The dates of a fault: the turns of one [[fault]] table. Pure functions of scenario and seed, without
// SimGrid.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "sim/scenario/spec/faults.hpp"

namespace psim {

// One occurrence of a fault. `end`: when its window ends or a crashed node restarts; infinite: never.
struct FaultTurn {
  double begin = 0;
  double end = HUGE_VAL;
  bool operator==(const FaultTurn&) const = default;
};

class FaultTurns {
 public:
  // `table`: index among the scenario's faults. `node`: the node of these turns. It matters only with `mtbf`,
  // which draws failures for every node separately.
  FaultTurns(FaultSpec spec, std::uint64_t seed, std::uint64_t table, std::uint32_t node);

  // The turns in order; none after the last turn. A fault that waits for a condition has no turns.
  std::optional<FaultTurn> next();
  // Whether the turns never end.
  bool for_ever() const { return spec_.every || spec_.mtbf; }

  // A turn that begins now.
  static FaultTurn from(const FaultSpec& spec, double now);

 private:
  FaultSpec spec_;
  std::uint64_t seed_, table_;
  std::uint32_t node_;
  std::uint64_t turn_ = 0;
  double well_ = 0;  // mtbf: date of the node's last recovery
};

}  // namespace psim
