#include "sim/cluster/fault_turns.hpp"

#include <utility>

#include "model/random.hpp"

namespace psim {

FaultTurns::FaultTurns(FaultSpec spec, std::uint64_t seed, std::uint64_t table, std::uint32_t node)
    : spec_(std::move(spec)), seed_(seed), table_(table), node_(node) {}

FaultTurn FaultTurns::from(const FaultSpec& spec, double now) {
  const std::optional<Seconds>& length = spec.kind->crashes ? spec.restart_after : spec.lasts;
  return {now, length ? now + length->value : HUGE_VAL};
}

std::optional<FaultTurn> FaultTurns::next() {
  const bool by_condition = !spec_.when.empty();
  if (by_condition || (turn_ > 0 && !for_ever())) return std::nullopt;
  const std::uint64_t turn = turn_++;
  if (spec_.mtbf) {
    // Exponential times between failures, the usual assumption of a constant failure rate.
    const double gap = spec_.mtbf->value * Stream(seed_, "fault", combine(table_, node_), turn).exponential();
    const FaultTurn result = from(spec_, well_ + gap);
    well_ = result.end < HUGE_VAL ? result.end : result.begin;
    return result;
  }
  // Each date is computed from its turn number, so rounding errors do not add up.
  const double shift = spec_.every ? static_cast<double>(turn) * spec_.every->value : 0;
  if (spec_.at) return from(spec_, spec_.at->value + shift);
  const double begin = spec_.from ? spec_.from->value : 0;
  return FaultTurn{begin + shift, spec_.until ? spec_.until->value + shift : HUGE_VAL};
}

}  // namespace psim
