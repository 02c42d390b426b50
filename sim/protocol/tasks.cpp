#include "sim/protocol/task_dag.hpp"

#include <algorithm>
#include <boost/graph/topological_sort.hpp>
#include <iterator>
#include <set>

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

}  // namespace psim
