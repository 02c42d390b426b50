// Finds the moment where the critical path of a run ends.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/graph.hpp"

namespace psim::analysis {

// The time that psim explains: until the end of the run, its target, or a date in seconds.
struct Until {
  enum class What : std::uint8_t { end, target, date } what = What::end;
  double date = 0;
};

// The moment that ends the critical path up to `date`; CausalGraph::none if nothing had happened. `jobs`: of
// a run with several jobs.
std::uint32_t end_of(const CausalGraph& graph, double date, const Json& summary, const std::vector<Job>& jobs,
                     Until::What what);

}  // namespace psim::analysis
