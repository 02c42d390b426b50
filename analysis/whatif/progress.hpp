// How far the workers are by when, and when they would be further.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/graph.hpp"

namespace psim::analysis {

// By worker, when each of its clocks was computed; rising dates in seconds.
class Progress {
 public:
  Progress() = default;
  // `dates`: by moment; of those that the record has before `until`.
  Progress(const CausalGraph& graph, const Facts& facts, const std::vector<double>& dates, double until);

  std::size_t workers() const { return dates_.size(); }
  std::int64_t steps() const;
  // Of the worker that is furthest.
  std::int64_t most() const;
  // When all workers together had computed so many steps; infinity: never.
  double date_of(std::int64_t steps) const;
  // The same, where those that still computed when the run ended go on at their pace: the mean time from one
  // step to the next until then.
  double date_of_more(std::int64_t steps, const std::vector<bool>& goes_on) const;
  // When the last worker would have computed its `steps` at its pace; infinity: there is one without a pace.
  double date_of_all(std::int64_t steps) const;
  // By worker: whether it still computed when the run ended: its last step is not older than four of its
  // paces.
  std::vector<bool> going_on(double end) const;

 private:
  double pace(std::size_t worker) const;
  std::vector<std::vector<double>> dates_;
};

}  // namespace psim::analysis
