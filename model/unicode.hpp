// Texts in UTF-8, one code point after the other.
#pragma once

#include <cstddef>
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

}  // namespace psim
