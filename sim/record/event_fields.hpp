// The declarations of events, one by one, for what is made of all of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "sim/record/event.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

// Calls `f` with each declared field of T, in the order of the table's columns.
template <class T, class F>
void for_each_field(F&& f) {
  std::apply([&](const auto&... field) { (f(field), ...); }, T::fields());
}

// Calls `f.operator()<T>()` for each type of event, in the order of the variant.
template <class F>
void for_each_subject(F&& f) {
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

// The type of a field's values, of those that are there.
template <class Owner, class T>
OptionalOf<T> kind_of_member(T Owner::*);

// The names of an enumeration's values.
template <class Enum>
auto all_names(Enum value) {
  if constexpr (requires { names_of(value); }) return names_of(value);
  else {
    std::vector<std::string_view> names;
    for (const Choice& choice : choices<Enum>()) names.push_back(choice.name);
    return names;
  }
}
template <class Enum>
std::string_view name_in(Enum value) {
  if constexpr (requires { names_of(value); }) return names_of(value)[static_cast<std::size_t>(value)];
  else return name_of(value);
}

// CREATE TABLE for each type of event, with what its columns mean.
std::string event_tables();
// docs/tables.md.
std::string event_tables_page();

}  // namespace psim
