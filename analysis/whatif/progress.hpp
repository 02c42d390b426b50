// The progress of workers: when each has computed how many steps, and when it would have more.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/graph.hpp"

namespace psim::analysis {

// By worker: when it had computed each of its clocks, in seconds, ascending.
class Progress {
 public:
  Progress() = default;
  // `dates`: by moment. Only moments that the record has before `until` count.
  Progress(const CausalGraph& graph, const Facts& facts, const std::vector<double>& dates, double until);

  std::size_t workers() const { return dates_.size(); }
  std::int64_t steps() const;
  // The number of steps of the fastest worker.
  std::int64_t most() const;
  // When all workers together had computed `steps` steps; infinity: never.
  double date_of(std::int64_t steps) const;
  // The same, if the workers in `goes_on` continue after the end of the run at their mean time per step.
  double date_of_more(std::int64_t steps, const std::vector<bool>& goes_on) const;
  // When the last worker would have computed `steps` steps at its pace; infinity: some worker has no pace.
  double date_of_all(std::int64_t steps) const;
  // By worker: whether it still computed when the run ended. Its last step must be at most four mean steps
  // old.
  std::vector<bool> going_on(double end) const;

 private:
  double pace(std::size_t worker) const;
  std::vector<std::vector<double>> dates_;
};

}  // namespace psim::analysis
