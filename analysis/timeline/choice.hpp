// Selects the nodes to draw if there are more nodes than lines.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/timeline/spans.hpp"

namespace psim::analysis {

inline constexpr std::size_t lanes_of_a_page = 24;

struct Choice {
  std::vector<const Lane*> lanes;  // by node
  std::size_t left_out = 0;        // number of other active nodes
};

// At most `most` of the nodes that are active in this time: first nodes with a fault or a slow time, then
// alternately the nodes that wait most and the nodes that compute most.
Choice lanes_to_show(const Timeline& line, double from, double until, std::size_t most);

}  // namespace psim::analysis
