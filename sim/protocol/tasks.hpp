// Work as a graph of asynchronous tasks: pushes, pulls, gradients and functions that servers run, each of
// which waits for others (Li et al., OSDI 2014, 3.4 and 3.5). A *program* is a short list of tasks that is
// repeated in every clock; what a task waits for may lie some clocks back. Pure.
//
// Two things are made of a program. `psim explain tasks` draws the programs that the consistency models stand
// for, and a scenario's own. With consistency = "tasks" the scheduler follows the scenario's program
// (scheduler/task_scheduler). Servers decide by counting under all other models;
// tests/sim/protocol/tasks_test.cpp drives a server with messages in random order and finds that both say the
// same. Models in which the order of arrival decides (k-sync and its like, dssp) have no fixed graph.
#pragma once

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

// A table of a program's tasks: where each runs, and what it waits for.
std::string draw_program(const Program& program);

}  // namespace psim
