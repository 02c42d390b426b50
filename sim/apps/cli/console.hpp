// Output to stderr: progress, diagnostics, errors. Answers go to stdout. Colours of both in a terminal.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/runs/answer.hpp"

namespace psim::cli {

// Ignores a closed or full stderr. In a terminal the words "error" and "help" and the carets have colours.
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
// Whether this stream is a terminal with colours, and the user has not turned them off.
bool may_colour(int stream = STDOUT_FILENO);

// The parameters of escape codes.
inline constexpr std::string_view bold = "1", red = "1;31", green = "32";
std::string painted(std::string_view text, std::string_view code);

// Prints a run's summary to stdout. In a terminal its title and labels are bold, and the shares of time have
// the colours of the pages.
void print_summary(std::string_view text);

// Call it first. If psim starts with a closed standard stream, its first open file would take that number,
// and output would go into this file. This function opens /dev/null instead: stdin is empty, stderr is lost,
// and writing to stdout fails.
void keep_standard_streams();

}  // namespace psim::cli
