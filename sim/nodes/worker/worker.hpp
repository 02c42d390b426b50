// A worker. It pulls weights, computes a gradient, pushes it, and repeats this (Li et al., OSDI 2014,
// algorithm 1).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/nodes/job/actors.hpp"
#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/worker/client_actor.hpp"
#include "sim/nodes/worker/step.hpp"

namespace psim {

class Worker {
 public:
  // `first_weights`: set if the worker begins before servers are there. `back`: the worker was there before,
  // and crashed.
  Worker(JobContext& job, NodeId node, std::shared_ptr<Values> first_weights, bool back = false);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The actor's body.
  void run();

  // A message for this worker has arrived; the worker may be computing. Runs in the simulation kernel.
  void on_arrival(const Message& message) {
    if (message.is<Fetch>()) context_.source.serve(message);
    else step_->on_arrival(message);
  }

  const BatchSource& source() const { return context_.source; }
  const Requests& requests() const { return context_.requests; }
  std::int64_t view() const { return context_.kv.view(); }
  bool is_through() const { return through_; }
  // The worker has finished, but still listens: a crash may set back a shard that needs its pushes.
  bool stays() const { return stays_; }
  // The worker has finished, and such a shard was set back. The worker must begin again, as after a crash.
  bool is_needed() const { return is_needed_; }
  // The worker leaves after its current step.
  void leave_soon() { leaves_ = true; }
  bool is_leaving() const { return leaves_ && !through_; }

 private:
  std::optional<Start> warm_up();
  void forget_warm_up();
  bool pull();  // false when training is over
  void wait(Awaited what, Timestamp task);
  void finish(bool completes);
  void resume();
  void go_on_with(std::int64_t clock);
  void begin_again();
  // Where stale pushes count: the clock of the next step.
  std::int64_t own_clock() const { return context_.number - context_.begun_again; }
  bool goes_on_alone() const;
  bool may_begin() const;
  void choose_keys();
  void pull_other_keys();

  JobContext& job_;
  StepContext context_;
  std::unique_ptr<Step> step_;
  // The first step of this life, or after skipped steps: the worker has no older copy of weights.
  std::int64_t first_ = 0;
  std::shared_ptr<Values> first_weights_;
  bool returns_;
  bool leaves_ = false;
  std::optional<Start> start_;  // start message during the warmup
  bool through_ = false;        // all its clocks are done, or it has left
  bool stays_ = false, is_needed_ = false;
};

// A worker in a scenario with tasks: it does the tasks that the scheduler gives it. It pulls and pushes while
// it computes. It makes pulls one after the other, and gradients one after the other, in the order of the
// scheduler.
class TaskWorker {
 public:
  TaskWorker(JobContext& job, NodeId node);
  TaskWorker(const TaskWorker&) = delete;
  TaskWorker& operator=(const TaskWorker&) = delete;

  // The actor's body; `actors` start the actor that computes.
  void run(Actors& actors);
  std::int64_t samples_computed() const { return samples_; }

 private:
  // The result of a task, for the next task.
  struct Result {
    std::shared_ptr<Assembly> weights = {};  // of a pull
    std::shared_ptr<Values> gradient = {};   // of a gradient
    ClientActor::Versions versions = {};     // the versions on which it was computed
  };
  void take(const RunTask& order);
  void begin_pull();
  void settle();
  void compute_all();
  void compute(const RunTask& order);
  void push(const RunTask& order);
  void tell(std::uint64_t task);

  JobContext& job_;
  NodeId node_;
  std::uint32_t index_;
  ClientActor kv_;
  Processor processor_;
  Actors* actors_ = nullptr;
  std::deque<RunTask> to_pull_, to_compute_;
  bool pulls_ = false, computes_ = false;
  std::map<Timestamp, std::uint64_t> pushes_;  // pushes on their way, and their tasks
  std::map<std::uint64_t, Result> results_;    // by task
  std::int64_t steps_ = 0;                     // computed
  std::int64_t pushed_ = 0, samples_ = 0;
  bool ends_ = false;
};

}  // namespace psim
