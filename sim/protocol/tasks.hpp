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

// The tasks of the rule's workers in the clocks from 0 on. Nothing when they form no fixed graph: where the
// first k pushes make an update, or the bound changes as the run goes.
std::optional<TaskGraph> task_graph(const ConsistencyRule& rule, std::int64_t clocks);

TaskId find_task(const TaskGraph& graph, const Task& task);
// Those that `task` itself waits for, in the order in which they were made.
std::vector<TaskId> waits_for(const TaskGraph& graph, TaskId task);
// Each task after all that it waits for. Throws boost::not_a_dag when there is no such order.
std::vector<TaskId> topological_order(const TaskGraph& graph);
// Tasks of the longest chain of tasks that wait for each other.
std::int64_t longest_chain(const TaskGraph& graph);

// Workers by clocks: what each pull waits for, in words of `draw_tasks`' own legend.
std::string draw_tasks(const TaskGraph& graph, std::int64_t workers, std::int64_t clocks);

}  // namespace psim
