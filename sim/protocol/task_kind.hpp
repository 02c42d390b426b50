// The kinds of tasks (tasks.hpp).
#pragma once

#include <cstdint>
#include <string_view>

#include "model/base/enum_names.hpp"

namespace psim {

enum class TaskKind : std::uint8_t {
  pull,      // a worker gets the weights
  gradient,  // it computes on them
  push,      // it sends the gradient to the servers, where it waits
  // Functions of servers:
  apply,   // one push changes the weights
  update,  // all pushes that have arrived change the weights, as one
  scale,   // weights times a number
  clip,    // values beyond a bound become that bound
  norm,    // tells the Euclidean norm of the weights
};
inline constexpr auto task_names = enum_names<TaskKind>();
constexpr const auto& names_of(TaskKind) { return task_names; }
constexpr std::string_view name_of(TaskKind kind) { return task_names[static_cast<std::size_t>(kind)]; }
constexpr bool is_of_server(TaskKind kind) { return kind >= TaskKind::apply; }
constexpr bool is_about_all_values(TaskKind kind) { return kind >= TaskKind::scale; }
constexpr bool changes_weights(TaskKind kind) { return kind == TaskKind::scale || kind == TaskKind::clip; }

}  // namespace psim
