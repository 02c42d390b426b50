// Taking lines of numbers apart.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace psim {

// Without blanks, tabs and carriage returns at its ends.
std::string_view trim(std::string_view text);

// The text up to `separator`, which is removed from `rest` together with it.
std::string_view cut(std::string_view& rest, char separator);

// The whole of `cell` as a number.
template <class Number>
std::errc read(std::string_view cell, Number& value) {
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return end == cell.data() + cell.size() ? error : std::errc::invalid_argument;
}

// A finite number that may enter a model; returns what is wrong with it, or nothing.
std::string read_feature(std::string_view cell, float& value);

// In backticks; what is long is cut.
std::string in_backticks(std::string_view cell);

}  // namespace psim
