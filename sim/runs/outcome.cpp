#include "sim/runs/outcome.hpp"

#include <algorithm>

namespace psim {

bool misses_target(const Json& summary) {
  const auto misses = [](const Json& what) { return what["target"]["given"] && !what["target"]["reached"]; };
  return summary.contains("groups") ? std::ranges::any_of(summary["groups"], misses) : misses(summary);
}

bool is_yes(const Json& summary) { return !misses_target(summary) && summary["stuck"].empty(); }

}  // namespace psim
