#include "sim/protocol/tasks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/graph/topological_sort.hpp>
#include <iterator>
#include <stdexcept>

namespace psim {
namespace {

using Clock = std::int64_t;
using Worker = std::int64_t;

// The update that includes the push of `worker`: its own, or that of all.
Task update_with(bool together, Worker worker, Clock clock) {
  return {TaskKind::apply, together ? std::nullopt : std::optional(worker), clock};
}

// The text of a cell about the updates of clock `clock` among `tasks`.
std::string updates_in_words(const TaskGraph& graph, const std::vector<TaskId>& tasks, Clock clock,
                             Worker workers) {
  std::vector<std::string> names;
  for (const TaskId id : tasks) {
    const Task& task = graph[id];
    if (task.kind != TaskKind::apply || task.clock != clock) continue;
    if (!task.worker) return fmt::format("update {}", clock);
    names.push_back(fmt::format("{}.{}", *task.worker, clock));
  }
  if (names.empty()) return "";
  if (names.size() == static_cast<std::size_t>(workers)) return fmt::format("applied *.{}", clock);
  return fmt::format("applied {}", fmt::join(names, " "));
}

std::string cell(const TaskGraph& graph, Worker worker, Clock clock, Clock clocks, Worker workers) {
  const std::vector<TaskId> tasks = waits_for(graph, find_task(graph, {TaskKind::pull, worker, clock}));
  std::vector<std::string> words;
  for (const TaskId id : tasks) {
    if (graph[id].kind == TaskKind::push)
      words.push_back(fmt::format("push {}.{}", *graph[id].worker, graph[id].clock));
  }
  for (Clock c = 0; c < clocks; ++c) {
    if (std::string updates = updates_in_words(graph, tasks, c, workers); !updates.empty())
      words.push_back(std::move(updates));
  }
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::optional<TaskGraph> task_graph(const ConsistencyRule& rule, std::int64_t clocks) {
  const bool together = rule.waits_for_all();
  const bool each = rule.group == 1 && (rule.gate == Gate::none || rule.gate == Gate::staleness);
  if (rule.dynamic || (!together && !each)) return std::nullopt;

  TaskGraph graph;
  for (Clock t = 0; t < clocks; ++t) {
    for (Worker w = 0; w < rule.workers; ++w) {
      const TaskId pull = add_vertex({TaskKind::pull, w, t}, graph);
      const TaskId push = add_vertex({TaskKind::push, w, t}, graph);
      add_edge(pull, push, graph);
      if (!together) add_edge(push, add_vertex({TaskKind::apply, w, t}, graph), graph);
      // A worker reads its own writes under every model.
      if (t > 0) add_edge(find_task(graph, {TaskKind::push, w, t - 1}), pull, graph);
      // With staleness s, clock t begins when all pushes of clock t-1-s are applied; bsp is s = 0.
      const Clock seen = t - 1 - (together ? 0 : rule.staleness_at(t));
      if (seen < 0 || rule.gate == Gate::none) continue;
      for (Worker other = 0; other < (together ? 1 : rule.workers); ++other)
        add_edge(find_task(graph, update_with(together, other, seen)), pull, graph);
    }
    if (!together) continue;
    const TaskId update = add_vertex(update_with(true, 0, t), graph);
    for (Worker w = 0; w < rule.workers; ++w)
      add_edge(find_task(graph, {TaskKind::push, w, t}), update, graph);
  }
  return graph;
}

TaskId find_task(const TaskGraph& graph, const Task& task) {
  const auto [begin, end] = vertices(graph);
  const auto found = std::find_if(begin, end, [&](TaskId id) { return graph[id] == task; });
  if (found == end) throw std::logic_error("no such task");
  return *found;
}

std::vector<TaskId> waits_for(const TaskGraph& graph, TaskId task) {
  std::vector<TaskId> tasks;
  for (auto [edge, end] = in_edges(task, graph); edge != end; ++edge) tasks.push_back(source(*edge, graph));
  std::ranges::sort(tasks);
  return tasks;
}

std::vector<TaskId> topological_order(const TaskGraph& graph) {
  std::vector<TaskId> order;
  topological_sort(graph, std::back_inserter(order));
  std::ranges::reverse(order);  // Boost gives what waits first
  return order;
}

std::int64_t longest_chain(const TaskGraph& graph) {
  std::vector<std::int64_t> depth(num_vertices(graph), 1);
  for (const TaskId task : topological_order(graph)) {
    for (const TaskId before : waits_for(graph, task)) depth[task] = std::max(depth[task], depth[before] + 1);
  }
  return depth.empty() ? 0 : std::ranges::max(depth);
}

std::string draw_tasks(const TaskGraph& graph, std::int64_t workers, std::int64_t clocks) {
  std::vector<std::vector<std::string>> rows(static_cast<std::size_t>(workers) + 1);
  rows[0].emplace_back("pull");
  for (Clock t = 0; t < clocks; ++t) rows[0].push_back(fmt::format("clock {}", t));
  for (Worker w = 0; w < workers; ++w) {
    std::vector<std::string>& row = rows[static_cast<std::size_t>(w) + 1];
    row.push_back(fmt::format("worker {}", w));
    for (Clock t = 0; t < clocks; ++t) row.push_back(cell(graph, w, t, clocks, workers));
  }
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
  return out + fmt::format("  {} tasks, {} dependencies, the longest chain has {} tasks\n",
                           num_vertices(graph), num_edges(graph), longest_chain(graph));
}

}  // namespace psim
