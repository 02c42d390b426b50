// What psim says on stderr: progress, diagnostics, errors. Never an answer; those are on stdout.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/runs/refused.hpp"

namespace psim::cli {

// Whether anybody can hear it changes nothing: a closed or full stderr is no error.
void say_text(std::string_view text);

template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  say_text(fmt::format(format, std::forward<Values>(values)...));
}

// Columns of the terminal that stdout is; nothing where it is none.
std::optional<int> terminal_width();
// Whether stdout is a terminal that shows colours, and whose user wants them.
bool may_colour();

// To be called first. A program that is started with a closed standard stream would open its first file in
// that place, and then talk into it. A closed stdin is empty, a closed stderr is not heard, and writing to a
// closed stdout fails.
void keep_standard_streams();

}  // namespace psim::cli
