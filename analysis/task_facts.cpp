#include "analysis/task_facts.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <stdexcept>

namespace psim::analysis {
namespace {

std::int64_t number_at_end(std::string_view text) {
  std::int64_t number = -1;
  const std::size_t space = text.find_last_of(" -");
  if (space != std::string_view::npos)
    std::from_chars(text.data() + space + 1, text.data() + text.size(), number);
  return number;
}

// "push", "all push", "update[-1]".
TaskFact::Input input_of(std::string_view text,
                         const std::map<std::string, std::size_t, std::less<>>& by_name) {
  TaskFact::Input input{.task = 0, .clocks_back = 0, .all = text.starts_with("all ")};
  if (input.all) text.remove_prefix(4);
  if (const std::size_t open = text.find('['); open != std::string_view::npos) {
    input.clocks_back = number_at_end(text.substr(open, text.size() - open - 1));
    text = text.substr(0, open);
  }
  const auto named = by_name.find(text);
  if (named == by_name.end()) throw std::runtime_error(fmt::format("there is no task {}", text));
  input.task = named->second;
  return input;
}

// What it takes, it takes from the first such task that it waits for.
const TaskFact& where_it_begins(const std::vector<TaskFact>& tasks, std::size_t at) {
  static const std::map<std::string_view, std::string_view> sources{
      {"gradient", "pull"}, {"push", "gradient"}, {"apply", "push"}};
  for (std::size_t steps = 0; steps < tasks.size(); ++steps) {
    const auto wanted = sources.find(tasks[at].does);
    if (wanted == sources.end()) break;
    for (const TaskFact::Input& input : tasks[at].after) {
      if (tasks[input.task].does != wanted->second) continue;
      at = input.task;
      break;
    }
  }
  return tasks[at];
}

}  // namespace

std::vector<TaskFact> task_facts(const toml::table& scenario, std::int64_t workers) {
  std::vector<TaskFact> tasks;
  const toml::array* rows = scenario.at_path("task").as_array();
  if (rows == nullptr) return tasks;
  std::map<std::string, std::size_t, std::less<>> by_name;
  for (const toml::node& row : *rows) {
    if (!row.is_table()) throw std::runtime_error("task is no list of tables");
    const toml::table& table = *row.as_table();
    by_name.emplace(table.at_path("name").value_or(std::string()), tasks.size());
    TaskFact& task = tasks.emplace_back();
    task.does = table.at_path("do").value_or(std::string());
    if (task.does != "pull") continue;
    const std::string on = table.at_path("on").value_or(std::string());
    task.anywhere = on == "any worker";
    if (on.starts_with("worker ")) task.worker = number_at_end(on);
    else task.units = table.at_path("count").value_or(workers);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const toml::array* after = (*rows)[i].as_table()->at_path("after").as_array();
    for (std::size_t a = 0; after != nullptr && a < after->size(); ++a)
      tasks[i].after.push_back(input_of((*after)[a].value_or(std::string()), by_name));
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskFact begin = where_it_begins(tasks, i);
    const bool inherits = begin.does == "pull";
    tasks[i].is_of_server = tasks[i].does != "pull" && tasks[i].does != "gradient" && tasks[i].does != "push";
    if (!inherits) continue;
    tasks[i].units = begin.units;
    tasks[i].worker = begin.worker;
    tasks[i].anywhere = begin.anywhere;
  }
  return tasks;
}

}  // namespace psim::analysis
