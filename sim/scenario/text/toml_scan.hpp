// Reading TOML by eye: what can be told of a text before, or without, parsing it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace psim {

bool blank(char c);

// The brackets and the quote that are open at the end of `text`, outermost first.
std::vector<std::size_t> open_in(std::string_view text);

// `text` with a question mark for each character outside texts and comments that is not ASCII: such are never
// TOML, and toml++ 3.3.0 must not see them (its test for white space has no answer to most). A word that
// begins like a number is read to its end, with quotes in it.
std::string in_ascii(std::string_view text);

}  // namespace psim
