#include "sim/protocol/tasks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/graph/topological_sort.hpp>

#include <algorithm>
#include <iterator>
#include <set>

#include "sim/protocol/task_dag.hpp"

namespace psim {

std::optional<TaskKind> takes_result_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::gradient: return TaskKind::pull;
    case TaskKind::push: return TaskKind::gradient;
    case TaskKind::apply: return TaskKind::push;
    default: return std::nullopt;
  }
}

namespace {

// Depth-first search along the tasks that each task waits for in its own clock.
bool finds_circle(const Program& program, std::size_t at, std::vector<std::size_t>& path,
                  std::set<std::size_t>& known) {
  const auto before = std::ranges::find(path, at);
  if (before != path.end()) {
    path.erase(path.begin(), before);
    return true;
  }
  if (!known.insert(at).second) return false;
  path.push_back(at);
  for (const TaskInput& input : program[at].after) {
    if (input.clocks_back(0) == 0 && finds_circle(program, input.task, path, known)) return true;
  }
  path.pop_back();
  return false;
}

}  // namespace

std::vector<std::size_t> circle_in(const Program& program) {
  std::set<std::size_t> known;
  for (std::size_t task = 0; task < program.size(); ++task) {
    std::vector<std::size_t> path;
    if (finds_circle(program, task, path, known)) return path;
  }
  return {};
}

std::optional<std::size_t> source_of(const Program& program, std::size_t task) {
  const std::optional<TaskKind> wanted = takes_result_of(program[task].kind);
  if (!wanted) return std::nullopt;
  for (const TaskInput& input : program[task].after) {
    if (program[input.task].kind == *wanted) return input.task;
  }
  return std::nullopt;
}

std::int64_t tasks_of(const Program& program, TaskKind kind) {
  std::int64_t count = 0;
  for (const ProgramTask& task : program) {
    if (task.kind == kind) count += task.count();
  }
  return count;
}

std::optional<Program> program_of(const ConsistencyRule& rule) {
  const bool together = rule.waits_for_all();
  const bool each =
      rule.group == 1 && (rule.gate == Gate::none || rule.gate == Gate::staleness) && !rule.asks_all;
  if (rule.dynamic || (!together && !each)) return std::nullopt;
  const auto one_back = [](std::int64_t) { return 1; };
  // A worker reads its own writes under every model.
  ProgramTask pull{.name = "pull",
                   .kind = TaskKind::pull,
                   .units = rule.workers,
                   .after = {{.task = 1, .clocks_back = one_back}}};
  ProgramTask push{.name = "push", .kind = TaskKind::push, .units = rule.workers, .after = {{.task = 0}}};
  ProgramTask change{.name = "update", .kind = TaskKind::update, .after = {{.task = 1}}};
  if (!together) {
    change.name = "apply";
    change.kind = TaskKind::apply;
    change.units = rule.workers;
  }
  // With staleness s, clock t begins when all pushes of clock t-1-s are applied; bsp is s = 0.
  if (together) {
    pull.after.push_back({.task = 2, .clocks_back = one_back});
  } else if (rule.gate == Gate::staleness) {
    const auto back = [rule](std::int64_t clock) { return 1 + rule.bound.at(clock); };
    pull.after.push_back({.task = 2, .clocks_back = back, .all = true});
  }
  return Program{std::move(pull), std::move(push), std::move(change)};
}

namespace {

std::int64_t clocks_back(const TaskInput& input, std::int64_t clock) {
  const std::int64_t back = input.clocks_back(clock);
  return back;
}

}  // namespace

TaskDag::TaskDag(Program program, std::int64_t clocks) : program_(std::move(program)) {
  for (const ProgramTask& task : program_) {
    first_.push_back(in_clock_);
    in_clock_ += static_cast<std::size_t>(task.count());
  }
  graph_ = TaskGraph(in_clock_ * static_cast<std::size_t>(clocks));
  for (std::int64_t clock = 0; clock < clocks; ++clock) {
    for (std::size_t of = 0; of < program_.size(); ++of) {
      const ProgramTask& task = program_[of];
      for (std::int64_t u = 0; u < task.count(); ++u) {
        const Task one{of, task.units ? std::optional(u) : std::nullopt, clock};
        const TaskId id = id_of(one);
        graph_[id] = one;
        for (const TaskInput& input : task.after) {
          const std::int64_t back = clock - clocks_back(input, clock);
          if (back < 0) continue;
          const ProgramTask& other = program_[input.task];
          const bool is_own = task.units && other.units && !input.all;
          for (std::int64_t v = is_own ? u : 0; v < (is_own ? u + 1 : other.count()); ++v)
            add_edge(id_of({input.task, other.units ? std::optional(v) : std::nullopt, back}), id, graph_);
        }
      }
    }
  }
}

TaskId TaskDag::id_of(const Task& task) const {
  return static_cast<std::size_t>(task.clock) * in_clock_ + first_[task.of] +
         static_cast<std::size_t>(task.unit.value_or(0));
}

std::vector<TaskId> TaskDag::waits_for(TaskId task) const {
  std::vector<TaskId> tasks;
  for (auto [edge, end] = in_edges(task, graph_); edge != end; ++edge) tasks.push_back(source(*edge, graph_));
  std::ranges::sort(tasks);
  return tasks;
}

std::vector<TaskId> TaskDag::topological_order() const {
  std::vector<TaskId> order;
  topological_sort(graph_, std::back_inserter(order));
  std::ranges::reverse(order);  // Boost returns the reverse order
  return order;
}

std::int64_t TaskDag::longest_chain() const {
  std::vector<std::int64_t> depth(size(), 1);
  for (const TaskId task : topological_order()) {
    for (const TaskId before : waits_for(task)) depth[task] = std::max(depth[task], depth[before] + 1);
  }
  return depth.empty() ? 0 : std::ranges::max(depth);
}

TaskProgress::TaskProgress(const TaskGraph& graph) : graph_(graph), missing_(num_vertices(graph)) {
  for (TaskId task = 0; task < missing_.size(); ++task) {
    missing_[task] = in_degree(task, graph);
    if (missing_[task] == 0) ready_.push_back(task);
  }
}

std::vector<TaskId> TaskProgress::take_ready() {
  std::vector<TaskId> ready = std::exchange(ready_, {});
  std::ranges::sort(ready);
  return ready;
}

void TaskProgress::done(TaskId task) {
  ++done_;
  for (auto [edge, end] = out_edges(task, graph_); edge != end; ++edge) {
    if (--missing_[target(*edge, graph_)] == 0) ready_.push_back(target(*edge, graph_));
  }
}

// Graphs of tasks as text.

namespace {

using TextRows = std::vector<std::vector<std::string>>;

std::string table_of(const TextRows& rows) {
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
  TextRows rows{{"pull"}};
  for (std::int64_t t = 0; t < clocks; ++t) rows[0].push_back(fmt::format("clock {}", t));
  for (std::int64_t w = 0; w < dag.program().front().count(); ++w) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(fmt::format("worker {}", w));
    for (std::int64_t t = 0; t < clocks; ++t) row.push_back(cell(dag, dag.id_of({0, w, t}), clocks));
  }
  return table_of(rows) + fmt::format("  {}\n", sizes_of(dag));
}

std::string draw_program(const Program& program) {
  TextRows rows{{"task", "does", "on", "waits for"}};
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
