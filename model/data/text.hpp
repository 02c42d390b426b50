// Parses lines of numbers.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace psim {

// The text without blanks, tabs and carriage returns at its ends.
std::string_view trim(std::string_view text);

// The text up to `separator`, which is removed from `rest` together with it.
std::string_view cut(std::string_view& rest, char separator);

// The first of `separators` that the line contains, or else a blank.
char separator_of(std::string_view line, std::string_view separators);
// The cells of a line, without blanks and quotes around them. With a blank as separator any blanks and tabs
// separate two cells, and no cell is empty.
std::vector<std::string_view> cells_of(std::string_view line, char separator);

// Parses the whole of `cell` as a number.
template <class Number>
std::errc read(std::string_view cell, Number& value) {
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return end == cell.data() + cell.size() ? error : std::errc::invalid_argument;
}

// A finite number that may enter a model; returns the mistake, or an empty text.
std::string read_feature(std::string_view cell, float& value);

// The cell in backticks; a long cell is cut.
std::string in_backticks(std::string_view cell);

}  // namespace psim
