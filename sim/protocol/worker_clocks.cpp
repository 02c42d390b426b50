#include "sim/protocol/worker_clocks.hpp"

#include <optional>
#include <utility>

namespace psim {

void WorkerClocks::count_applied(std::size_t w) {
  Worker& worker = workers_[w];
  const bool was_slowest = worker.clock() == slowest_;
  ++worker.applied;
  if (was_slowest && --at_slowest_ == 0) find_slowest();
}

void WorkerClocks::finish(std::size_t worker) {
  const bool is_news = !std::exchange(workers_[worker].finished, true);
  if (is_news && !workers_[worker].gone) --will_push_;
}

bool WorkerClocks::skip_to(std::size_t w, std::int64_t number) {
  Worker& worker = workers_[w];
  const std::int64_t skipped = number - worker.arrived;
  if (skipped <= 0) return false;
  worker.arrived += skipped;
  worker.applied += skipped;  // pushes that wait for their group are still to be applied
  return true;
}

std::int64_t WorkerClocks::to_skip(std::size_t w) {
  Worker& worker = workers_[w];
  if (worker.rejoining) worker.offered_skip = slowest_ - worker.arrived;
  return std::max(worker.offered_skip, worker.skipped_clocks);
}

bool WorkerClocks::has_skipped(std::size_t w, std::int64_t clocks) {
  Worker& worker = workers_[w];
  const bool goes_on = clocks > worker.skipped_clocks,
             has_heard = worker.offered_skip >= 0 && clocks >= worker.offered_skip;
  worker.skipped_clocks = std::max(worker.skipped_clocks, clocks);
  return worker.rejoining ? has_heard : goes_on;
}

void WorkerClocks::is_back(std::size_t w) {
  workers_[w].rejoining = false;
  workers_[w].offered_skip = -1;
  find_slowest();
}

void WorkerClocks::raise_applied(std::size_t w, std::int64_t number) {
  Worker& worker = workers_[w];
  worker.arrived = std::max(worker.arrived, number + 1);
  worker.applied = std::max(worker.applied, number + 1);
}

void WorkerClocks::set_members(const std::vector<bool>& members) {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    Worker& worker = workers_[w];
    if (worker.gone != members[w]) continue;
    worker.gone = !members[w];
    members_ += worker.gone ? -1 : 1;
    if (!worker.finished) will_push_ += worker.gone ? -1 : 1;
  }
  find_slowest();
}

void WorkerClocks::find_slowest() {
  std::optional<std::int64_t> least;
  for (const Worker& worker : workers_) {
    if (!worker.counts()) continue;
    if (worker.clock() == least) ++at_slowest_;
    if (least && worker.clock() >= *least) continue;
    least = worker.clock();
    at_slowest_ = 1;
  }
  slowest_ = least.value_or(slowest_);
}

}  // namespace psim
