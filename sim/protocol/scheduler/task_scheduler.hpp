// The scheduler of a scenario with tasks: it gives each task out when all tasks that it waits for are done,
// and notes when the task itself is done (Li et al., OSDI 2014, 3.4). A pull on any worker goes to the first
// worker without a task; if no worker is free, it waits for one (Graham 1966: list scheduling). A function of
// servers is a call of every shard, and done when all shards have answered. Pure: dates come from outside.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "sim/protocol/key_space.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/task_dag.hpp"

namespace psim {

// Receives a task scheduler's messages, and the fate of every task.
class TaskOutbox {
 public:
  virtual ~TaskOutbox() = default;
  virtual void send(Message message) = 0;
  // `worker`: from 0; none for a function of servers.
  virtual void is_given(TaskId /*task*/, std::optional<std::uint32_t> /*worker*/) {}
  struct Outcome {
    std::optional<std::uint32_t> worker = {};
    double seconds = 0;  // from the date when it is given out until it is done
    double value = 0;    // the sum of the servers' answers
  };
  virtual void is_done(TaskId /*task*/, const Outcome& /*outcome*/) {}
};

class TaskScheduler {
 public:
  struct Options {
    NodeId first_worker = 1;
    std::uint32_t workers = 1;
    std::uint32_t first_shard = 0;
    std::vector<Shard> shards = {};
    NodeId first_server = 1;
  };
  TaskScheduler(Options options, const TaskDag& dag, TaskOutbox& out);

  // Gives out the tasks that are ready. When all tasks are done, it tells the workers.
  void begin(double now);
  void on(const Message& message, double now);
  bool is_over() const { return progress_.is_over(); }

 private:
  void give_ready();
  void give(TaskId task);
  void give_to(TaskId task, std::uint32_t worker);
  void call(TaskId task);
  void give_waiting();
  void done(TaskId task);
  void send_to(std::uint32_t worker, RunTask order);
  // The task whose result `task` takes.
  TaskId source_of(TaskId task) const;

  Options options_;
  const TaskDag& dag_;
  TaskOutbox& out_;
  double now_ = 0;
  TaskProgress progress_;
  struct Given {
    double at = 0;
    std::optional<std::uint32_t> worker = {};
    std::int64_t push = -1;   // a push: its number
    std::size_t answers = 0;  // a call: answers that are still to come
    double value = 0;
  };
  std::map<TaskId, Given> given_;
  std::vector<std::int64_t> open_;  // by worker: its unfinished tasks
  std::deque<TaskId> waiting_;      // for any worker
};

}  // namespace psim
