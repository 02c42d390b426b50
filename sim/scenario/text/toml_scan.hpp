// Reading TOML by eye: what can be told of a text before, or without, parsing it.
#pragma once

#include <cstddef>
#include <optional>
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

// No scenario nests deeper. Parser, checks and destructors recurse by these, so that a text without bound
// would use up the stack.
constexpr std::size_t most_brackets = 64;  // open at once
constexpr std::size_t most_parts = 32;     // of a dotted key

// The bytes where a text nests too deeply.
struct DeepPlace {
  std::size_t begin = 0, end = 0;
  bool key = false;  // a key of too many parts, else a bracket within too many others
};
std::optional<DeepPlace> first_too_deep(std::string_view text);

}  // namespace psim
