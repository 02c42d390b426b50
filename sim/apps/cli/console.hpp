// Output to stderr: progress, diagnostics, errors. Answers go to stdout.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/runs/answer.hpp"

namespace psim::cli {

// Ignores a closed or full stderr.
void say_text(std::string_view text);

template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  say_text(fmt::format(format, std::forward<Values>(values)...));
}

// The width of the terminal at stdout, in columns; nothing if stdout is not a terminal.
std::optional<int> terminal_width();
// For tables and paragraphs: that of the terminal, at least 40; 100 in a file.
inline std::size_t table_width() {
  return static_cast<std::size_t>(std::max(40, terminal_width().value_or(100)));
}
// Whether stdout is a terminal with colours, and the user has not turned them off.
bool may_colour();

// Call it first. If psim starts with a closed standard stream, its first open file would take that number,
// and output would go into this file. This function opens /dev/null instead: stdin is empty, stderr is lost,
// and writing to stdout fails.
void keep_standard_streams();

}  // namespace psim::cli
