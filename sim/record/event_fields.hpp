// Visits the declarations of all events.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/base/database.hpp"
#include "sim/record/event.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

// Calls `f` with each declared field of T, in the order of the table's columns.
template <class T, class F>
constexpr void for_each_field(F&& f) {
  T::fields([&f](const char* name, const char* meaning, auto member) { f(Field{name, meaning, member}); });
}

// How many fields T declares.
template <class T>
consteval std::size_t count_of_fields() {
  std::size_t count = 0;
  T::fields([&count](auto&&...) { ++count; });
  return count;
}

// Calls `f.operator()<T>()` for each type of event, in the order of the variant.
template <class F>
constexpr void for_each_subject(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f.template operator()<std::variant_alternative_t<I, Subject>>(), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Subject>>{});
}

template <class T>
struct OptionalOf {
  using Value = T;
  static constexpr bool value = false;
};
template <class T>
struct OptionalOf<std::optional<T>> {
  using Value = T;
  static constexpr bool value = true;
};

// The type of a field's values; for an optional field, the type inside.
template <class Owner, class T>
OptionalOf<T> kind_of_member(T Owner::*);

// Values that have names: of an enumeration, or rows of a table.
template <class Enum>
constexpr std::size_t index_in(Enum value) {
  return static_cast<std::size_t>(value);
}
template <class Row>
std::size_t index_in(Chosen<Row> value) {
  return value.index();
}
template <class T>
std::string_view name_in(T value) {
  if constexpr (requires { value->name; }) return value->name;
  else if constexpr (requires { names_of(value); }) return names_of(value)[index_in(value)];
  else return name_of(value);
}
template <class T>
concept Named = std::is_enum_v<T> || requires(T value) {
  value->name;
};

// The value as the database stores it.
template <Named T>
LastingText column_value(T value) {
  return {name_in(value)};
}

// All names of the kind of `kind`, in order.
template <Named T>
decltype(auto) all_names(T kind) {
  if constexpr (requires { names_of(kind); }) {
    return (names_of(kind));
  } else {
    std::vector<std::string_view> names;
    if constexpr (requires { kind->name; }) {
      for (const auto& row : all_rows<std::remove_cvref_t<decltype(*kind)>>()) names.push_back(row.name);
    } else {
      for (const Choice& choice : choices<T>()) names.push_back(choice.name);
    }
    return names;
  }
}

// The value with this name; none for an unknown name.
template <Named T>
std::optional<T> value_of(T kind, std::string_view name) {
  const auto& names = all_names(kind);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(found - names.begin());
  if constexpr (requires { kind->name; }) return T::at(index);
  else return static_cast<T>(index);
}

inline constexpr auto event_table_names = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array{std::string_view(std::variant_alternative_t<I, Subject>::table)...};
}
(std::make_index_sequence<std::variant_size_v<Subject>>{});

// The place of T in the variant of all types.
template <class T>
inline constexpr std::size_t subject_number = Subject(std::in_place_type<T>).index();

// Calls `f` with the value of a member, if it has one.
template <class T>
void with_value(T& member, auto&& f) {
  if constexpr (OptionalOf<std::remove_const_t<T>>::value) {
    if (member) f(*member);
  } else {
    f(member);
  }
}

// Calls `f` with each node in the content of an event; the first one is the other node that it is about.
template <class T>
void for_each_node(T& what, auto&& f) {
  if constexpr (requires { what.to; }) f(what.to);
  if constexpr (requires { what.from; }) f(what.from);
  if constexpr (requires { what.worker; }) with_value(what.worker, f);
  if constexpr (requires { what.receiver; }) f(what.receiver);
  if constexpr (requires { what.sender; }) with_value(what.sender, f);
  if constexpr (requires { what.server; }) f(what.server);
  if constexpr (requires { what.replica; }) f(what.replica);
  if constexpr (requires { what.owner; }) f(what.owner);
  if constexpr (requires { what.suspect; }) f(what.suspect);
  if constexpr (requires { what.holder; }) f(what.holder);
  if constexpr (requires { what.target; }) with_value(what.target, f);
  if constexpr (requires { what.other_side; }) with_value(what.other_side, f);
  if constexpr (requires { what.next_owner; }) with_value(what.next_owner, f);
}

// Reads the value of a column. Returns false for a name that psim does not have.
template <class T>
bool read_value(sqlite3_stmt* row, int column, T& value) {
  if constexpr (OptionalOf<T>::value) {
    return is_null(row, column) || read_value(row, column, value.emplace());
  } else if constexpr (Named<T>) {
    const std::optional<T> known = value_of(value, text_in(row, column));
    value = known.value_or(value);
    return known.has_value();
  } else if constexpr (std::is_floating_point_v<T>) {
    value = sqlite3_column_double(row, column);
  } else {
    value = static_cast<T>(sqlite3_column_int64(row, column));
  }
  return true;
}

// How many columns T's table has: number, at_s, node, cause, spent, and the fields.
template <class T>
inline constexpr int columns_of = 5 + static_cast<int>(count_of_fields<T>());

// The event in a row whose columns from `column` on are those of T's table; none if a name in it is unknown.
template <class T>
std::optional<Event> event_in(sqlite3_stmt* row, int column = 0) {
  std::optional<Event> event(std::in_place);
  event->at = sqlite3_column_double(row, ++column);
  event->node = id_in(row, ++column);
  bool is_known = true;
  if (!is_null(row, ++column)) event->cause.event = sqlite3_column_int64(row, column);
  if (!is_null(row, ++column)) is_known = read_value(row, column, event->cause.spent);
  T& what = event->what.template emplace<T>();
  for_each_field<T>([&](const auto& field) {
    if (!read_value(row, ++column, what.*field.member)) is_known = false;
  });
  if constexpr (std::same_as<T, Sent>) what.from = event->node;
  if (!is_known) event.reset();
  return event;
}

// CREATE TABLE for each type of event, with the meanings of its columns.
std::string event_tables();
// The text of docs/tables.md.
std::string event_tables_page();

}  // namespace psim
