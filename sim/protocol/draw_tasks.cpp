// Graphs of tasks as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/protocol/task_dag.hpp"

namespace psim {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string table_of(const Rows& rows) {
  std::string out;
  for (const std::vector<std::string>& row : rows) {
    std::string line = " ";
    for (std::size_t column = 0; column < row.size(); ++column) {
      std::size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[column].size());
      line += fmt::format(" {:<{}} ", row[column], width);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

// The text of a cell: the tasks `of` in clock `clock` among `tasks`.
std::string in_words(const TaskDag& dag, const std::vector<TaskId>& tasks, std::size_t of,
                     std::int64_t clock) {
  const ProgramTask& task = dag.program()[of];
  std::vector<std::string> names;
  for (const TaskId id : tasks) {
    if (dag[id].of != of || dag[id].clock != clock) continue;
    if (!dag[id].unit) return fmt::format("{} {}", task.name, clock);
    names.push_back(fmt::format("{}.{}", *dag[id].unit, clock));
  }
  if (names.empty()) return "";
  const std::string_view done = task.kind == TaskKind::apply ? "applied" : std::string_view(task.name);
  const bool all = names.size() == static_cast<std::size_t>(task.count()) && names.size() > 1;
  if (all) return fmt::format("{} *.{}", done, clock);
  return fmt::format("{} {}", done, fmt::join(names, " "));
}

std::string cell(const TaskDag& dag, TaskId pull, std::int64_t clocks) {
  const std::vector<TaskId> tasks = dag.waits_for(pull);
  std::vector<std::string> words;
  const auto say = [&](bool pushes) {
    for (std::int64_t clock = 0; clock < clocks; ++clock) {
      for (std::size_t of = 0; of < dag.program().size(); ++of) {
        if ((dag.program()[of].kind == TaskKind::push) != pushes) continue;
        if (std::string one = in_words(dag, tasks, of, clock); !one.empty()) words.push_back(std::move(one));
      }
    }
  };
  say(true);
  say(false);
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

std::string place_of(const ProgramTask& task) {
  if (is_of_server(task.kind)) {
    if (!task.units) return "servers";
    return fmt::format("servers, {} time{}", *task.units, *task.units == 1 ? "" : "s");
  }
  if (task.worker) return fmt::format("worker {}", *task.worker);
  return fmt::format("{} {}", task.anywhere ? "any worker, unit 0 to" : "workers 0 to", task.count() - 1);
}

}  // namespace

std::string sizes_of(const TaskDag& dag) {
  return fmt::format("{} tasks, {} dependencies, the longest chain has {} tasks", dag.size(),
                     num_edges(dag.graph()), dag.longest_chain());
}

std::string draw_pulls(const TaskDag& dag, std::int64_t clocks) {
  Rows rows{{"pull"}};
  for (std::int64_t t = 0; t < clocks; ++t) rows[0].push_back(fmt::format("clock {}", t));
  for (std::int64_t w = 0; w < dag.program().front().count(); ++w) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(fmt::format("worker {}", w));
    for (std::int64_t t = 0; t < clocks; ++t) row.push_back(cell(dag, dag.id_of({0, w, t}), clocks));
  }
  return table_of(rows) + fmt::format("  {}\n", sizes_of(dag));
}

std::string draw_program(const Program& program) {
  Rows rows{{"task", "does", "on", "waits for"}};
  for (const ProgramTask& task : program) {
    std::vector<std::string> inputs;
    for (const TaskInput& input : task.after) {
      const ProgramTask& other = program[input.task];
      const std::int64_t back = input.clocks_back(0);
      const bool all = other.units && (input.all || !task.units);
      inputs.push_back(
          fmt::format("{}{}{}", all ? "all " : "", other.name, back > 0 ? fmt::format("[-{}]", back) : ""));
    }
    rows.push_back({task.name, std::string(name_of(task.kind)), place_of(task),
                    inputs.empty() ? "nothing" : fmt::format("{}", fmt::join(inputs, ", "))});
  }
  return table_of(rows);
}

}  // namespace psim
