// How deep a text nests, told before it is parsed: parsers, checks and destructors recurse by that, so that a
// text without bound would use up the stack.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace psim {

// Of TOML. No scenario nests deeper.
constexpr std::size_t most_brackets = 64;  // open at once
constexpr std::size_t most_parts = 32;     // of a dotted key

// The bytes where a text nests too deeply.
struct DeepPlace {
  std::size_t begin = 0, end = 0;
  bool key = false;  // a key of too many parts, else a bracket within too many others
};
std::optional<DeepPlace> first_too_deep(std::string_view text);

// Whether a comment or a text in quotes of TOML begins with `c`.
bool begins_quoted(char c);
// The offset behind the comment or the text in quotes that begins at `i`; npos when it is not closed.
std::size_t behind_quoted(std::string_view text, std::size_t i);

// Why a text is more than any JSON of psim: it nests deeper than 64 levels, or an object has more than 4,096
// names, of which a lookup goes through all. Empty: it is not.
std::string_view too_much_json(std::string_view text);

}  // namespace psim
