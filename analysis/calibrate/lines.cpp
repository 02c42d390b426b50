#include "analysis/calibrate/tool_outputs.hpp"

#include <fmt/format.h>

#include "model/data/text.hpp"

namespace psim::calibrate {
namespace {

constexpr std::size_t longest_line = 1 << 20;

}  // namespace

std::optional<double> number_in(std::string_view cell) {
  double value = 0;
  return read(cell, value) == std::errc{} ? std::optional(value) : std::nullopt;
}

std::string listed(const Cells& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + in_backticks(name);
  return text;
}

LogError two_columns(const std::string& path, std::string_view one, std::string_view other) {
  return {fmt::format("{}: the columns {} and {} are the same duration", path, in_backticks(one),
                      in_backticks(other)),
          "remove one of them, or rename it"};
}

void note_ignored(const std::string& path, const Cells& columns, ClusterLog& log) {
  if (columns.empty()) return;
  log.note(path, fmt::format("ignored columns: {}.", listed(columns)));
}

bool Lines::next() {
  while (next_of_any_kind()) {
    if (!is_comment()) return true;
  }
  return false;
}

bool Lines::next_of_any_kind() {
  while (std::getline(in_, line_)) {
    ++number_;
    if (line_.size() > longest_line)
      throw LogError(place() + ": the line is too long for a table", "a line has the durations of one step");
    text_ = trim(line_);
    if (!text_.empty()) return true;
  }
  return false;
}

std::string Lines::place() const { return fmt::format("{}:{}", path_, number_); }

}  // namespace psim::calibrate
