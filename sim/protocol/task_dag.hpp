// A program of tasks written out for some clocks, as a graph. Pure.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/protocol/tasks.hpp"

namespace psim {

// A task of a program in one clock.
struct Task {
  std::size_t of = 0;                     // its number in the program
  std::optional<std::int64_t> unit = {};  // none: one task for all units
  std::int64_t clock = 0;
  bool operator==(const Task&) const = default;
};

// An edge leads from a task to one that waits for it.
using TaskGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Task>;
using TaskId = TaskGraph::vertex_descriptor;

// A program written out for some clocks: clock by clock, in each clock the tasks in the program's order, and
// for each task its units.
class TaskDag {
 public:
  TaskDag(Program program, std::int64_t clocks);

  const Program& program() const { return program_; }
  const TaskGraph& graph() const { return graph_; }
  const Task& operator[](TaskId id) const { return graph_[id]; }
  const ProgramTask& task_of(TaskId id) const { return program_[graph_[id].of]; }
  TaskId id_of(const Task& task) const;
  std::size_t size() const { return num_vertices(graph_); }
  // The tasks for which `task` itself waits, rising.
  std::vector<TaskId> waits_for(TaskId task) const;
  // A topological order: each task comes after all tasks for which it waits. Throws boost::not_a_dag for a
  // graph with a circle.
  std::vector<TaskId> topological_order() const;
  // Number of tasks in the longest chain of tasks that wait for each other.
  std::int64_t longest_chain() const;

 private:
  Program program_;
  std::vector<std::size_t> first_;  // of each task of the program, in a clock
  std::size_t in_clock_ = 0;
  TaskGraph graph_;
};

// The progress of a run in its graph.
class TaskProgress {
 public:
  explicit TaskProgress(const TaskGraph& graph);
  // The tasks that have become ready since the last call, rising.
  std::vector<TaskId> take_ready();
  void done(TaskId task);
  bool is_over() const { return done_ == missing_.size(); }

 private:
  const TaskGraph& graph_;
  std::vector<std::size_t> missing_;  // by task: the number of tasks that it still waits for
  std::vector<TaskId> ready_;
  std::size_t done_ = 0;
};

// A table of units by clocks: the tasks that each pull waits for, in the words of `psim explain tasks`.
std::string draw_pulls(const TaskDag& dag, std::int64_t clocks);
// "28 tasks, 42 dependencies, the longest chain has 12 tasks".
std::string sizes_of(const TaskDag& dag);

}  // namespace psim
