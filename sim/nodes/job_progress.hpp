// Which nodes of a job take part, and which workers have finished. Workers have numbers from 0 within the
// job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/protocol/ids.hpp"

namespace psim {

class JobProgress {
 public:
  // `nodes`: number of nodes of the run.
  JobProgress(std::uint32_t workers, std::size_t nodes)
      : completed_(workers), left_(workers), taken_out_(workers), joins_(nodes), starts_(nodes) {}

  // The worker has done all its steps (`completes`), or leaves before its last step.
  void finish(std::uint32_t worker, bool completes, double now) {
    (completes ? completed_ : left_)[worker] = true;
    last_finish_ = now;
  }
  void is_absent(std::uint32_t worker) { left_[worker] = true; }  // absent at the beginning
  void comes(std::uint32_t worker) { left_[worker] = false; }     // for the first time, or again
  // The scheduler's view lacks the worker (`is_out`) or contains it.
  void take_out(std::uint32_t worker, bool is_out) { taken_out_[worker] = is_out; }
  // The job no longer waits for a worker that is gone for good.
  void wait_no_longer(double now) { last_finish_ = now; }
  void end() { over_ = true; }

  bool has_completed(std::uint32_t worker) const { return completed_[worker]; }
  // The worker has left before its last step, or has not joined yet.
  bool has_left(std::uint32_t worker) const { return left_[worker]; }
  bool is_taken_out(std::uint32_t worker) const { return taken_out_[worker]; }
  bool some_completed() const { return std::ranges::find(completed_, true) != completed_.end(); }
  std::ptrdiff_t completed() const { return std::ranges::count(completed_, true); }
  bool all_left() const { return std::ranges::find(left_, false) == left_.end(); }
  // Whether each worker has done its steps, has left, or has not joined.
  bool all_through() const {
    for (std::size_t w = 0; w < completed_.size(); ++w) {
      if (!completed_[w] && !left_[w]) return false;
    }
    return true;
  }
  double last_finish() const { return last_finish_; }
  bool is_over() const { return over_; }  // the job has ended; others may go on

  // The node asks the scheduler to take part; later the scheduler tells it to start.
  void joins(NodeId node) { joins_[node] = true; }
  void has_joined(NodeId node) { joins_[node] = false; }
  bool is_joining(NodeId node) const { return joins_[node]; }

  // A start of the node is planned. take_start() ends the plan: its date has come, or the start is given up.
  void starts(NodeId node) { starts_[node] = true; }
  // Returns whether a start was planned.
  bool take_start(NodeId node) {
    const bool was_planned = starts_[node];
    starts_[node] = false;
    return was_planned;
  }
  bool is_starting(NodeId node) const { return starts_[node]; }
  bool some_start() const { return std::ranges::find(starts_, true) != starts_.end(); }

 private:
  std::vector<bool> completed_, left_, taken_out_;  // by worker
  std::vector<bool> joins_, starts_;                // by node
  double last_finish_ = 0;
  bool over_ = false;
};

}  // namespace psim
