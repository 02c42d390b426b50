// Scans TOML text before parsing, or without parsing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace psim {

bool blank(char c);

// The open brackets and the open quote at the end of `text`, outermost first.
std::vector<std::size_t> open_in(std::string_view text);

// `text` with a question mark instead of each non-ASCII character outside texts and comments. TOML does not
// allow these characters there, and the white-space test of toml++ 3.3.0 fails on most of them. A word that
// begins like a number ends at its last character, even with quotes in it.
std::string in_ascii(std::string_view text);

}  // namespace psim
