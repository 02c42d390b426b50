// Conditions on which faults wait: "loss < 0.5", "clock of worker 3 = 100", "server 1 crashed".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace psim {

struct FaultCondition {
  enum class Quantity : std::uint8_t { loss, accuracy, updates, clock, crashed };
  Quantity quantity = Quantity::updates;
  bool below = false;   // the quantity is to fall to the bound, not to rise to it
  bool strict = false;  // the bound itself does not do
  double bound = 0;
  std::string node = {};  // clock, crashed: of this one

  bool holds(double value) const {
    if (below) return strict ? value < bound : value <= bound;
    return strict ? value > bound : value >= bound;
  }
};

// What does not fit, and which bytes of the text it is.
struct ConditionError {
  std::size_t begin = 0, length = 0;
  std::string label;
};

// "=" waits for a count to get there, so it is ">=".
std::variant<FaultCondition, ConditionError> parse_condition(std::string_view text);

inline constexpr std::string_view condition_forms =
    "\"loss < 0.5\", \"accuracy > 0.9\", \"updates >= 200\", \"clock of worker 3 = 100\", \"server 1 "
    "crashed\"";

}  // namespace psim
