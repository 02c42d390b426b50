// Checks that tasks were done in an order that the scenario allows.
#include <map>
#include <set>
#include <tuple>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

class TasksCheck final : public Check {
 public:
  explicit TasksCheck(const Evidence& evidence)
      : Check(evidence, "tasks",
              "each task begins when all that it waits for are done, where it belongs, and is done once") {
    if (facts_.tasks.empty()) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.table != "task") return;
    examined();
    const Key key{row.task, row.unit, row.clock};
    const TaskFact& task = facts_.tasks[static_cast<std::size_t>(row.task)];
    if (row.is("given")) {
      look_at_inputs(row, task);
      look_at_place(row, task);
      if (!given_.emplace(key, row.peer).second) violated(row, "{} is given out a second time", text(key));
      if (!task.is_of_server) ++busy_[row.peer];
      return;
    }
    const auto given = given_.find(key);
    if (given == given_.end()) return violated(row, "{} is done and was not given out", text(key));
    if (given->second != row.peer) violated(row, "{} was given to {}", text(key), name(given->second));
    if (!done_.insert(key).second) violated(row, "{} is done a second time", text(key));
    if (!task.is_of_server) --busy_[row.peer];
  }

  void at_end(std::int64_t) override {
    for (const auto& [key, worker] : given_) {
      if (!done_.contains(key) && ended_by_itself()) violated("{} was given out and never done", text(key));
    }
  }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // task, unit, clock

  static std::string text(const Key& key) {
    return fmt::format("task {}, unit {}, clock {}", std::get<0>(key), std::get<1>(key), std::get<2>(key));
  }
  // The run ended without a date, a target or getting stuck.
  bool ended_by_itself() const {
    return !facts_.duration && summary_["target"]["reached"] != true && summary_["stuck"].empty();
  }

  void look_at_inputs(const Row& row, const TaskFact& task) {
    for (const TaskFact::Input& input : task.after) {
      const std::int64_t clock = row.clock - input.clocks_back;
      if (clock < 0) continue;
      const TaskFact& other = facts_.tasks[input.task];
      const bool is_own = !input.all && row.unit >= 0 && other.units >= 0;
      const std::int64_t first = other.units < 0 ? -1 : is_own ? row.unit : 0;
      const std::int64_t last = other.units < 0 ? -1 : is_own ? row.unit : other.units - 1;
      for (std::int64_t unit = first; unit <= last; ++unit) {
        const Key key{static_cast<std::int64_t>(input.task), unit, clock};
        if (!done_.contains(key)) violated(row, "it is given out before {} is done", text(key));
      }
    }
  }

  void look_at_place(const Row& row, const TaskFact& task) {
    if (task.is_of_server) return;
    if (task.does != "pull") {
      for (const TaskFact::Input& input : task.after) {
        const bool is_source = facts_.tasks[input.task].does == (task.does == "push" ? "gradient" : "pull");
        const auto source = given_.find({static_cast<std::int64_t>(input.task), row.unit, row.clock});
        if (is_source && source != given_.end() && source->second != row.peer)
          violated(row, "{} has what it needs", name(source->second));
      }
      return;
    }
    if (task.anywhere) {
      if (busy_[row.peer] > 0) violated(row, "{} still has {} tasks to do", name(row.peer), busy_[row.peer]);
      return;
    }
    const std::int64_t expected = task.worker >= 0 ? task.worker : row.unit;
    if (static_cast<std::int64_t>(worker(row.peer)) != expected)
      violated(row, "it belongs to worker {}", expected);
  }

  std::map<Key, std::uint32_t> given_;
  std::set<Key> done_;
  std::map<std::uint32_t, std::int64_t> busy_;
};

}  // namespace

void add_task_check(const Evidence& evidence, Checks& checks) { add_checks<TasksCheck>(evidence, checks); }

}  // namespace psim::analysis
