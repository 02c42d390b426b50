// Which nodes to draw where there are more than a page has lines.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/timeline/spans.hpp"

namespace psim::analysis {

inline constexpr std::size_t lanes_of_a_page = 24;

struct Choice {
  std::vector<const Lane*> lanes;  // by node
  std::size_t left_out = 0;        // others that do something
};

// Of the nodes that do something in this time at most so many: those that a fault or a slow time concerns,
// and then in turn those that wait and those that compute the most.
Choice lanes_to_show(const Timeline& line, double from, double until, std::size_t most);

}  // namespace psim::analysis
