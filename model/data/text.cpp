#include "model/data/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "model/base/unicode.hpp"

namespace psim {

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view head = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return head;
}

char separator_of(std::string_view line, std::string_view separators) {
  for (const char separator : separators) {
    if (line.find(separator) != std::string_view::npos) return separator;
  }
  return ' ';
}

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t end = separator == ' ' ? line.find_first_of(" \t") : line.find(separator);
    std::string_view cell = trim(line.substr(0, end));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
    if (separator != ' ' || !cell.empty()) cells.push_back(cell);
    if (end == std::string_view::npos) return cells;
    line.remove_prefix(end + 1);
  }
}

std::string in_backticks(std::string_view cell) {
  constexpr std::size_t most = 60;
  std::string text(cell.substr(0, most));
  for (char& c : text) c = c == '\0' ? '?' : c;
  return "`" + text + (cell.size() > most ? "...`" : "`");
}

std::string read_feature(std::string_view cell, float& value) {
  double exact = 0.0;
  const std::errc error = read(cell, exact);
  if (error == std::errc::invalid_argument) return "not a number: " + in_backticks(cell);
  if (error == std::errc{} && !std::isfinite(exact)) return "not finite: " + in_backticks(cell);
  // Large doubles become infinite as floats, and infinite numbers may not enter a model.
  if (error != std::errc{} || std::abs(exact) > std::numeric_limits<float>::max())
    return "number out of range: " + in_backticks(cell);
  value = static_cast<float>(exact);
  return {};
}

namespace {

// Of one feature. Sums run in the order of the samples.
struct Summary {
  double mean = 0, sd = 0;
  float least = 0, largest = 0;
  bool is_whole = true, rises = true, falls = true;  // integers; each one larger, or smaller, than the last

  explicit Summary(const std::vector<float>& values) {
    const auto count = static_cast<double>(values.size());
    for (const float value : values) mean += value;
    mean /= count;
    for (const float value : values) sd += (value - mean) * (value - mean);
    const auto [low, high] = std::ranges::minmax(values);
    least = low, largest = high;
    sd = least == largest ? 0 : std::sqrt(sd / count);
    is_whole = std::ranges::all_of(values, [](float value) { return value == std::floor(value); });
    rises = std::ranges::adjacent_find(values, std::greater_equal{}) == values.end();
    falls = std::ranges::adjacent_find(values, std::less_equal{}) == values.end();
  }
};

std::vector<float> column_of(const SampleMatrix& inputs, Eigen::Index column) {
  return {inputs.col(column).begin(), inputs.col(column).end()};
}

// Whether the feature has the name of an identifier, or numbers the samples: integers that are all different,
// and in order or without large gaps.
bool is_id(std::string name, const Summary& s, std::vector<float> values) {
  name = in_small_letters(std::move(name));
  constexpr std::array<std::string_view, 6> names{"id", "index", "idx", "unnamed: 0", "uuid", "rownames"};
  if (std::ranges::find(names, name) != names.end() || name.ends_with("_id") || name.ends_with(" id"))
    return true;
  constexpr std::size_t fewest = 10;  // of fewer samples, a measured column may rise
  if (!s.is_whole || values.size() < fewest) return false;
  if (s.rises || s.falls) return true;
  if (s.largest - s.least >= 2 * static_cast<float>(values.size())) return false;
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) == values.end();
}

}  // namespace

std::string Column::shown() const {
  return fmt::format("column {}{}", number, name.empty() ? "" : fmt::format(" ({})", in_backticks(name)));
}

std::string Column::key() const {
  const bool is_plain = !name.empty() && name.find_first_of("\"\\\n") == std::string::npos;
  return is_plain ? fmt::format("\"{}\"", name) : std::to_string(number);
}

void note_columns(Dataset& data, const std::vector<Column>& columns, bool standardized) {
  std::pair<double, std::string> least{HUGE_VAL, ""}, most{0, ""};  // standard deviation, and whose it is
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::vector<float> values = column_of(data.inputs, static_cast<Eigen::Index>(c));
    const Summary summary(values);
    if (is_id(columns[c].name, summary, values)) {
      data.notes.push_back({columns[c].shown() + " seems to number the samples, and is a feature",
                            fmt::format("drop = [{}] in [data] leaves it out", columns[c].key())});
      continue;
    }
    if (summary.sd > most.first) most = {summary.sd, columns[c].shown()};
    if (summary.sd > 0 && summary.sd < least.first) least = {summary.sd, columns[c].shown()};
  }
  constexpr double large = 100;
  if (standardized || most.first < large * std::min(1.0, least.first)) return;
  data.notes.push_back(
      {fmt::format(
           "features have very different sizes: the standard deviation is {:.3g} in {} and {:.3g} in {}",
           most.first, most.second, least.first, least.second),
       "training often needs equal sizes: standardize = true in [data]"});
}

void standardize(DataSplit& data) {
  for (Eigen::Index c = 0; c < data.train.inputs.cols(); ++c) {
    const Summary summary(column_of(data.train.inputs, c));
    for (SampleMatrix* inputs : {&data.train.inputs, &data.validation.inputs, &data.test.inputs}) {
      for (Eigen::Index row = 0; row < inputs->rows(); ++row) {
        float& value = (*inputs)(row, c);
        value = summary.sd > 0 ? static_cast<float>((value - summary.mean) / summary.sd) : 0;
      }
    }
  }
}

}  // namespace psim
