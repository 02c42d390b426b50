// The names in records, as constants for the code that reads records.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

#include "sim/record/event.hpp"

namespace psim {

inline constexpr auto event_table_names = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array{std::string_view(std::variant_alternative_t<I, Subject>::table)...};
}
(std::make_index_sequence<std::variant_size_v<Subject>>{});

template <class... Names>
consteval auto joined(const Names&... names) {
  std::array<std::string_view, (std::tuple_size_v<Names> + ...)> all;
  auto end = all.begin();
  ((end = std::ranges::copy(names, end).out), ...);
  return all;
}

// Tables, phases of computations and tasks, outcomes of pushes, and kinds of messages. Of the faults only
// crashes: the other kinds are rows of a table, which is not a constant.
inline constexpr auto event_names = joined(event_table_names, phase_names, outcome_names, task_phase_names,
                                           message_names, std::to_array<std::string_view>({"crash"}));

}  // namespace psim
