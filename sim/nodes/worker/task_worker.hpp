// A worker in a scenario with tasks: it does the tasks that the scheduler gives it. It pulls and pushes while
// it computes. It makes pulls one after the other, and gradients one after the other, in the order of the
// scheduler.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "sim/nodes/job/actors.hpp"
#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/worker/client_actor.hpp"

namespace psim {

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
