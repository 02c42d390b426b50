// Visits the declarations of all events.
#pragma once

#include <algorithm>
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
std::vector<std::string_view> all_names(T kind) {
  std::vector<std::string_view> names;
  if constexpr (requires { kind->name; }) {
    for (const auto& row : all_rows<std::remove_cvref_t<decltype(*kind)>>()) names.push_back(row.name);
  } else if constexpr (requires { names_of(kind); }) {
    for (const std::string_view name : names_of(kind)) names.push_back(name);
  } else {
    for (const Choice& choice : choices<T>()) names.push_back(choice.name);
  }
  return names;
}

// The value with this name; the first value for an unknown name.
template <Named T>
T value_of(T kind, std::string_view name) {
  const std::vector<std::string_view> names = all_names(kind);
  const auto found = std::ranges::find(names, name);
  const auto index = static_cast<std::size_t>(found == names.end() ? 0 : found - names.begin());
  if constexpr (requires { kind->name; }) return T::at(index);
  else return static_cast<T>(index);
}

// CREATE TABLE for each type of event, with the meanings of its columns.
std::string event_tables();
// The text of docs/tables.md.
std::string event_tables_page();

}  // namespace psim
