// The progress of the workers of one shard: their pushes, the slowest clock, and the workers that take part.
// A worker's clock is the number of its pushes that were applied or dropped, plus the clocks that it skipped
// while it was away.
//
// A worker that joins, or comes back, resumes at the others' clock. With every answer a server tells it how
// many clocks to skip. If several shards answer, it takes the largest number, and pulls again. Its push
// numbers do not count skipped clocks, so no number is missing and no server has to guess which pushes can
// still come. Until it pulls with that clock, the others do not wait for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace psim {

class WorkerClocks {
 public:
  struct Worker {
    std::int64_t arrived = 0;  // pushes
    std::int64_t applied = 0;  // pushes that became part of an update or were dropped
    bool finished = false;     // will not push again
    bool gone = false;         // no longer takes part
    // It takes part again, but has not yet resumed at the others' clock: no worker waits for it.
    bool rejoining = false;
    std::int64_t skipped_clocks = 0;  // clocks that it skipped then; they have no pushes
    std::int64_t offered_skip = -1;   // in the last answer while it was rejoining
    std::int64_t clock() const { return applied + skipped_clocks; }
    bool counts() const { return !gone && !rejoining; }  // its clock can hold others back
  };

  explicit WorkerClocks(std::size_t workers)
      : workers_(workers),
        will_push_(static_cast<std::int64_t>(workers)),
        members_(static_cast<std::int64_t>(workers)),
        at_slowest_(workers) {}

  // By worker's number.
  Worker& operator[](std::size_t worker) { return workers_[worker]; }
  const Worker& operator[](std::size_t worker) const { return workers_[worker]; }
  std::size_t size() const { return workers_.size(); }
  auto begin() const { return workers_.begin(); }
  auto end() const { return workers_.end(); }

  std::int64_t slowest() const { return slowest_; }      // smallest clock of the workers that count
  std::int64_t members() const { return members_; }      // workers that take part
  std::int64_t will_push() const { return will_push_; }  // members that have not finished

  // One more push of this worker became part of an update or was dropped.
  void count_applied(std::size_t worker);
  // The worker will not push again.
  void finish(std::size_t worker);
  // Its pushes before `number` will not come. Returns whether any were missing.
  bool skip_to(std::size_t worker, std::int64_t number);
  // It will take part again, and skips to the others' clock.
  void comes_back(std::size_t worker) {
    workers_[worker].rejoining = workers_[worker].clock() < slowest_;
    workers_[worker].offered_skip = -1;
  }
  // How many clocks a returning worker must skip in all to resume at the others' clock. Its push numbers do
  // not count skipped clocks, so no number is missing. The number goes into every answer until the worker has
  // skipped the clocks. If several shards answer, the worker takes the largest number.
  std::int64_t to_skip(std::size_t worker);
  // The worker reports that it has skipped this many clocks in all. Returns whether the report raises its
  // clock, or makes it count again.
  bool has_skipped(std::size_t worker, std::int64_t clocks);
  // It has skipped enough clocks, and counts again.
  void is_back(std::size_t worker);
  // All its pushes up to this one have arrived, and were applied or dropped.
  void raise_applied(std::size_t worker, std::int64_t number);
  // Pushes that were not applied have to come again; `number` is one of them.
  void forget_from(std::size_t worker, std::int64_t number) {
    workers_[worker].applied = std::min(workers_[worker].applied, number);
  }
  void forget_arrived() {
    for (Worker& worker : workers_) worker.arrived = worker.applied;
  }
  // Which workers take part, by worker's number.
  void set_members(const std::vector<bool>& members);
  // To be called when a clock has changed by more than one, or when the workers that count have changed.
  void find_slowest();

 private:
  std::vector<Worker> workers_;
  std::int64_t will_push_;
  std::int64_t members_;
  std::int64_t slowest_ = 0;
  std::size_t at_slowest_;  // workers at the slowest clock
};

}  // namespace psim
