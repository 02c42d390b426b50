// How far the workers of one shard are: the pushes of each, whose clock is the least, and who takes part. A
// worker's clock is the number of its pushes that were applied or dropped, with the clocks that it skipped
// while it was away.
//
// A worker that joins, or comes back, resumes at the others' clock. A server tells it with every answer how
// many clocks to skip; of several shards it takes the most, and pulls again. It numbers its pushes without
// the clocks that it skipped, so no number is missing and no server has to guess which pushes can still
// come. Until it pulls with that clock the others do not wait for it.
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
    bool gone = false;         // takes part no more
    // It takes part again, and has not gone on yet from where the others are: nobody waits for it.
    bool behind = false;
    std::int64_t ahead = 0;  // clocks that it skipped then, and that have no pushes
    std::int64_t told = -1;  // `ahead` of the last answer while it was behind
    std::int64_t clock() const { return applied + ahead; }
    bool counts() const { return !gone && !behind; }  // others look at its clock
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

  std::int64_t slowest() const { return slowest_; }      // least clock of those that count
  std::int64_t members() const { return members_; }      // workers that take part
  std::int64_t will_push() const { return will_push_; }  // of those, workers that have not finished

  // One more push of this worker became part of an update or was dropped.
  void count_applied(std::size_t worker);
  // The worker will not push again.
  void finish(std::size_t worker);
  // Its pushes before `number` will not come. Returns whether there were any.
  bool skip_to(std::size_t worker, std::int64_t number);
  // It will take part again, and skips to where the others are.
  void comes_back(std::size_t worker) {
    workers_[worker].behind = workers_[worker].clock() < slowest_;
    workers_[worker].told = -1;
  }
  // A worker that was away goes on from where the others are. How many clocks it is to skip for that, in all;
  // it numbers its pushes without them, so that none is missing. An answer that it does not get is given
  // again, and of several shards' it takes the greatest.
  std::int64_t to_skip(std::size_t worker);
  // It says that it has skipped so many. Returns whether it has more clocks by that, or is one of the others
  // again.
  bool has_skipped(std::size_t worker, std::int64_t clocks);
  // It has skipped enough: it is one of the others again.
  void is_back(std::size_t worker);
  // All its pushes up to this one are here, and applied or dropped.
  void raise_applied(std::size_t worker, std::int64_t number);
  // Pushes that are not applied are to come again; `number` is one of them.
  void forget_from(std::size_t worker, std::int64_t number) {
    workers_[worker].applied = std::min(workers_[worker].applied, number);
  }
  void forget_arrived() {
    for (Worker& worker : workers_) worker.arrived = worker.applied;
  }
  // Who takes part, by worker's number.
  void set_members(const std::vector<bool>& members);
  // To be called when clocks have changed by more than a count, or who counts.
  void find_slowest();

 private:
  std::vector<Worker> workers_;
  std::int64_t will_push_;
  std::int64_t members_;
  std::int64_t slowest_ = 0;
  std::size_t at_slowest_;  // workers that have that clock
};

}  // namespace psim
