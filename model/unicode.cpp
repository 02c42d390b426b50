#include "model/unicode.hpp"

#include <utf8proc.h>

namespace psim {

CodePoint first_code_point(std::string_view text) {
  utf8proc_int32_t value = -1;
  const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                  static_cast<utf8proc_ssize_t>(text.size()), &value);
  if (bytes <= 0 || value < 0) return {};
  return {.value = static_cast<char32_t>(value),
          .bytes = static_cast<std::size_t>(bytes),
          .columns = static_cast<std::size_t>(utf8proc_charwidth(value))};
}

std::string in_small_letters(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace psim
