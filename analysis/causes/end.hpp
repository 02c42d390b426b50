// What the critical path of a run begins to go back from.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/graph.hpp"

namespace psim::analysis {

// What to explain: the run's end, when the target was reached, or what had happened until a date in seconds.
struct Until {
  enum class What : std::uint8_t { end, target, date } what = What::end;
  double date = 0;
};

// The moment that the path ends with, of a run until a date; CausalGraph::none if nothing had happened.
// `jobs`: of a run with several.
std::uint32_t end_of(const CausalGraph& graph, double date, const Json& summary, const std::vector<Job>& jobs,
                     Until::What what);

}  // namespace psim::analysis
