// Conditions of faults: "loss < 0.5", "clock of worker 3 = 100", "server 1 crashed".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace psim {

struct FaultCondition {
  enum class Quantity : std::uint8_t { loss, accuracy, updates, clock, crashed };
  Quantity quantity = Quantity::updates;
  bool below = false;   // true: the quantity falls to the bound; false: it rises to the bound
  bool strict = false;  // the bound itself does not satisfy the condition
  double bound = 0;
  std::string node = {};  // clock, crashed: the node

  bool holds(double value) const {
    if (below) return strict ? value < bound : value <= bound;
    return strict ? value > bound : value >= bound;
  }
};

// An error in a condition: its message, and its bytes in the text.
struct ConditionError {
  std::size_t begin = 0, length = 0;
  std::string label;
};

// "=" holds when a count reaches the bound, so it means ">=".
std::variant<FaultCondition, ConditionError> parse_condition(std::string_view text);

inline constexpr std::string_view condition_forms =
    "\"loss < 0.5\", \"accuracy > 0.9\", \"updates >= 200\", \"clock of worker 3 = 100\", \"server 1 "
    "crashed\"";

}  // namespace psim
