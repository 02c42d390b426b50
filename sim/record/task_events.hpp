// Events of tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/enum_names.hpp"
#include "sim/protocol/message.hpp"
#include "sim/record/event_column.hpp"

namespace psim {

enum class TaskPhase : std::uint8_t { given, done };
inline constexpr auto task_phase_names = enum_names<TaskPhase>();
constexpr const auto& names_of(TaskPhase) { return task_phase_names; }

struct TaskChange {
  TaskPhase phase = TaskPhase::given;
  std::int64_t task = 0, clock = 0;
  std::optional<std::int64_t> unit = {};
  std::optional<NodeId> worker = {};
  TaskKind does = TaskKind::pull;
  static constexpr const char* table = "task";
  static constexpr const char* about =
      "The scheduler gives a task to a worker or to the servers, or learns that it is done";
  static constexpr void fields(auto&& column) {
    column("phase", "given or done", &TaskChange::phase);
    column("task", "the number of its [[task]] in the scenario, from 0", &TaskChange::task);
    column("clock", "of the task", &TaskChange::clock);
    column("unit", "number of the unit in the clock, from 0; NULL: the task has no units", &TaskChange::unit);
    column("worker", "the node that does it; NULL: the servers do it", &TaskChange::worker);
    column("does", "what it does", &TaskChange::does);
  }
};

}  // namespace psim
