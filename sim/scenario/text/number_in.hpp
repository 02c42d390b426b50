// Numbers as texts.
#pragma once

#include <optional>
#include <string_view>

#include "model/data/text.hpp"

namespace psim {

// The number that the whole text is; nothing where it is none.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  return read(text, number) == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace psim
