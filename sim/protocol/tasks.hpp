// Work as a graph of asynchronous tasks: pushes, pulls, gradients and functions of servers. Each task waits
// for others (Li et al., OSDI 2014, 3.4 and 3.5). A *program* is a short list of tasks that is repeated in
// every clock; a task may wait for tasks of earlier clocks. Pure.
//
// psim uses programs in two ways. `psim explain tasks` draws the programs of the consistency models, and a
// scenario's own program. With consistency = "tasks" the scheduler follows the scenario's program
// (scheduler/task_scheduler). Under all other models servers decide by counting;
// tests/sim/protocol/tasks_test.cpp drives a server with messages in random order and finds that both decide
// the same. Models in which the order of arrival decides (k-sync and similar models, dssp) have no fixed
// graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/protocol/consistency.hpp"
#include "sim/protocol/task_kind.hpp"

namespace psim {

// The kind of task whose result a task of this kind takes; none: it takes no result.
std::optional<TaskKind> takes_result_of(TaskKind kind);

// A task that another task of the program waits for.
struct TaskInput {
  std::size_t task = 0;  // in the program
  // The number of clocks between the two tasks, for the waiting task in clock t.
  std::function<std::int64_t(std::int64_t)> clocks_back = [](std::int64_t) { return 0; };
  bool all = false;  // the tasks of all units; otherwise only of the same unit, where both have units
};

struct ProgramTask {
  std::string name;
  TaskKind kind = TaskKind::pull;
  std::optional<std::int64_t> units = {};    // one task for each unit; none: one task for all
  std::optional<std::uint32_t> worker = {};  // the worker that runs it, if it is one fixed worker
  bool anywhere = false;  // on any worker without a task; otherwise unit u runs on worker u
  double amount = 0;      // of scale and clip
  std::vector<TaskInput> after = {};

  std::int64_t count() const { return units.value_or(1); }
};

using Program = std::vector<ProgramTask>;

// The first tasks that wait for each other in a circle within one clock; empty: there is no circle.
std::vector<std::size_t> circle_in(const Program& program);
// The task whose result the given task takes; none: it takes no result.
std::optional<std::size_t> source_of(const Program& program, std::size_t task);
// The number of tasks of a kind in each clock.
std::int64_t tasks_of(const Program& program, TaskKind kind);
// The program of the rule's workers. None if they form no fixed graph: because the first k pushes make an
// update, or because the bound changes during the run.
std::optional<Program> program_of(const ConsistencyRule& rule);

// A table of a program's tasks: the node that runs each task, and the tasks that it waits for.
std::string draw_program(const Program& program);

}  // namespace psim
