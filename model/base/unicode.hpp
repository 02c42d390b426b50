// Texts in UTF-8, one code point after the other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace psim {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;    // 0: the text does not begin with UTF-8
  std::size_t columns = 0;  // its width on a terminal, according to utf8proc
};

// The first code point of `text`.
CodePoint first_code_point(std::string_view text);

// A to Z become a to z; other letters stay.
std::string in_small_letters(std::string text);

// The nesting depth of a text, measured before the text is parsed: parsers, checks and destructors recurse to
// that depth, so a text without a bound would use up the stack.

// Bounds for TOML. No scenario nests deeper.
constexpr std::size_t most_brackets = 64;  // open at once
constexpr std::size_t most_parts = 32;     // of a dotted key

// The bytes where a text nests too deeply.
struct DeepPlace {
  std::size_t begin = 0, end = 0;
  bool key = false;  // a key with too many parts; otherwise a bracket inside too many others
};
std::optional<DeepPlace> first_too_deep(std::string_view text);

// Whether `c` begins a comment or a quoted text of TOML.
bool begins_quoted(char c);
// The offset after the comment or quoted text that begins at `i`; npos if it is not closed.
std::size_t behind_quoted(std::string_view text, std::size_t i);

// The reason why a text cannot be JSON of psim: it nests deeper than 64 levels, or an object has more than
// 4,096 names (a lookup reads all names). Empty: no such reason.
std::string_view too_much_json(std::string_view text);

}  // namespace psim
