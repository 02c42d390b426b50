// The names of every enumeration of a scenario, in the order of the enumerators.
#pragma once

#include <vector>

#include "sim/scenario/fields/fields.hpp"

namespace psim {

template <class Enum>
std::vector<Choice> choices();

template <class Enum>
ChoiceField choice(Enum& value) {
  return {choices<Enum>(), [&value] { return static_cast<std::size_t>(value); },
          [&value](std::size_t index) { value = static_cast<Enum>(index); }};
}

template <class Enum>
std::string_view name_of(Enum value) {
  return choices<Enum>()[static_cast<std::size_t>(value)].name;
}

}  // namespace psim
