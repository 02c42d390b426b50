// Work as a graph of asynchronous tasks: pushes, pulls, gradients and functions that servers run, each of
// which waits for others (Li et al., OSDI 2014, 3.4 and 3.5). A *program* is a short list of tasks that is
// repeated in every clock; what a task waits for may lie some clocks back. Pure.
//
// Two things are made of a program. `psim explain tasks` draws the programs that the consistency models stand
// for, and a scenario's own. With consistency = "tasks" the scheduler follows the scenario's program
// (sim/roles/task_scheduler). Servers decide by counting under all other models;
// tests/sim/protocol/tasks_test.cpp drives a server with messages in random order and finds that both say the
// same. Models in which the order of arrival decides (k-sync and its like, dssp) have no fixed graph.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/protocol/consistency.hpp"
#include "sim/protocol/task_kind.hpp"

namespace psim {

// The kind whose result it takes; none: it takes none.
std::optional<TaskKind> takes_result_of(TaskKind kind);

// What a task of a program waits for.
struct TaskInput {
  std::size_t task = 0;  // in the program
  // How many clocks back, for the task in clock t.
  std::function<std::int64_t(std::int64_t)> clocks_back = [](std::int64_t) { return 0; };
  bool all = false;  // the tasks of all units; otherwise of its own, where both have units
};

struct ProgramTask {
  std::string name;
  TaskKind kind = TaskKind::pull;
  std::optional<std::int64_t> units = {};    // there is one for each; none: one for all
  std::optional<std::uint32_t> worker = {};  // where it runs, if that is one of them
  bool anywhere = false;  // on any worker that has nothing to do; otherwise unit u on worker u
  double amount = 0;      // of scale and clip
  std::vector<TaskInput> after = {};

  std::int64_t count() const { return units.value_or(1); }
};

using Program = std::vector<ProgramTask>;

// The first of the tasks that wait for each other within one clock, in a circle; empty: none do.
std::vector<std::size_t> circle_in(const Program& program);
// The task whose result the given one takes; none: it takes none.
std::optional<std::size_t> source_of(const Program& program, std::size_t task);
// How many tasks of a kind there are in each clock.
std::int64_t tasks_of(const Program& program, TaskKind kind);
// The program of the rule's workers. Nothing if they form no fixed graph: because the first k pushes make an
// update, or because the bound changes during the run.
std::optional<Program> program_of(const ConsistencyRule& rule);

// A task of a program in one clock.
struct Task {
  std::size_t of = 0;                     // in the program
  std::optional<std::int64_t> unit = {};  // none: one for all
  std::int64_t clock = 0;
  bool operator==(const Task&) const = default;
};

// An edge leads from a task to one that waits for it.
using TaskGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Task>;
using TaskId = TaskGraph::vertex_descriptor;

// A program written out for some clocks. Clock by clock, in each the tasks in the program's order, and each
// task's units.
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
  // A topological order: each task comes after all for which it waits. Throws boost::not_a_dag if there is
  // none.
  std::vector<TaskId> topological_order() const;
  // Number of tasks in the longest chain of tasks that wait for each other.
  std::int64_t longest_chain() const;

 private:
  Program program_;
  std::vector<std::size_t> first_;  // of each task of the program, in a clock
  std::size_t in_clock_ = 0;
  TaskGraph graph_;
};

// How far a run has come in its graph.
class TaskProgress {
 public:
  explicit TaskProgress(const TaskGraph& graph);
  // The tasks that have become ready since the last call, rising.
  std::vector<TaskId> take_ready();
  void done(TaskId task);
  bool is_over() const { return done_ == missing_.size(); }

 private:
  const TaskGraph& graph_;
  std::vector<std::size_t> missing_;  // by task: those that it waits for and that are not done
  std::vector<TaskId> ready_;
  std::size_t done_ = 0;
};

// A table of units by clocks: what each pull waits for, in the words of `psim explain tasks`.
std::string draw_pulls(const TaskDag& dag, std::int64_t clocks);
// A table of a program's tasks: where each runs, and what it waits for.
std::string draw_program(const Program& program);
// "28 tasks, 42 dependencies, the longest chain has 12 tasks".
std::string sizes_of(const TaskDag& dag);

}  // namespace psim
