// A consistency model as dependencies between asynchronous tasks (Li et al., OSDI 2014, 3.4 and 3.5): which
// pushes and updates a pull waits for.
//
// The graph only explains; servers decide by counting. tests/sim/protocol/tasks_test.cpp drives a server
// with messages in random order and finds that both say the same. Models in which the order of arrival
// decides (k-sync and its like, dssp) have no fixed graph.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/protocol/consistency.hpp"

namespace psim {

enum class TaskKind : std::uint8_t {
  pull,   // of the weights for a clock
  push,   // of that clock's gradient
  apply,  // of the gradient at the server
};

struct Task {
  TaskKind kind = TaskKind::pull;
  std::optional<std::int64_t> worker;  // none: one update for all
  std::int64_t clock = 0;

  bool operator==(const Task&) const = default;
};

// An edge leads from a task to one that waits for it.
using TaskGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Task>;
using TaskId = TaskGraph::vertex_descriptor;

// The tasks of the rule's workers in the clocks from 0 on. Nothing if they form no fixed graph: because the
// first k pushes make an update, or because the bound changes during the run.
std::optional<TaskGraph> task_graph(const ConsistencyRule& rule, std::int64_t clocks);

TaskId find_task(const TaskGraph& graph, const Task& task);
// The tasks for which `task` itself waits, in the order of their creation.
std::vector<TaskId> waits_for(const TaskGraph& graph, TaskId task);
// A topological order: each task comes after all for which it waits. Throws boost::not_a_dag if there is
// none.
std::vector<TaskId> topological_order(const TaskGraph& graph);
// Number of tasks in the longest chain of tasks that wait for each other.
std::int64_t longest_chain(const TaskGraph& graph);

// A table of workers by clocks: what each pull waits for, in the words of `psim explain tasks`.
std::string draw_tasks(const TaskGraph& graph, std::int64_t workers, std::int64_t clocks);

}  // namespace psim
