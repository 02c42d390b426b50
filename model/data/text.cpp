#include "model/data/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace psim
