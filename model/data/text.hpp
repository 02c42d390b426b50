// Parses lines of numbers, and names the columns of a table.
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "model/dataset.hpp"

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

// Columns of a table whose rows are samples.
struct Column {
  std::size_t number = 0;  // from 1
  std::string name = {};   // from the header; empty without a header

  std::string shown() const;  // in messages
  std::string key() const;    // in a scenario
};

// Notes on features that seem to number the samples, and on features of very different sizes. `columns`:
// those of the features.
void note_columns(Dataset& data, const std::vector<Column>& columns, bool standardized);

// Turns each feature x into (x - mean) / sd, with the mean and the standard deviation of the training samples
// (dividing by their number, as scikit-learn's StandardScaler does). If it is constant in these, it becomes
// 0.
void standardize(DataSplit& data);

}  // namespace psim
