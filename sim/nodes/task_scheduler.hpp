// The scheduler where a scenario has tasks: gives each task out when all that it waits for are done, and
// hears when it is done itself (Li et al., OSDI 2014, 3.4). A pull on any worker goes to the first worker
// that has nothing to do; if none is free it waits for one (Graham 1966: list scheduling). A function of
// servers is a call of every shard, and done when all have answered.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "sim/nodes/job_context.hpp"
#include "sim/protocol/task_dag.hpp"

namespace psim {

class TaskScheduler {
 public:
  explicit TaskScheduler(JobContext& job);
  // By the scheduler's actor: until all tasks are done, and all workers know.
  void run();

 private:
  void give(TaskId task);
  void give_to(TaskId task, std::uint32_t worker);
  void call(TaskId task);
  void give_waiting();
  void on(const Message& message);
  void done(TaskId task);
  void record(TaskPhase phase, TaskId task);
  // The task whose result this one takes.
  TaskId source_of(TaskId task) const;

  JobContext& job_;
  const TaskDag& dag_;
  TaskProgress progress_;
  struct Given {
    double at = 0;
    std::uint32_t worker = 0;
    std::int64_t push = -1;   // a push: its number
    std::size_t answers = 0;  // a call: that are still to come
    double value = 0;
  };
  std::map<TaskId, Given> given_;
  std::vector<std::int64_t> open_;  // by worker: tasks that it has and has not done
  std::deque<TaskId> waiting_;      // for any worker
};

}  // namespace psim
