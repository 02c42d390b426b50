#include "model/base/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <string>
#include <vector>

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

std::size_t behind_quoted(std::string_view text, std::size_t i) {
  if (text[i] == '#') return std::min(text.find('\n', i), text.size());
  const char quote = text[i];
  const std::string close(text.substr(i, 3) == std::string(3, quote) ? 3 : 1, quote);
  for (std::size_t k = i + close.size(); k < text.size(); ++k) {
    if (text.substr(k).starts_with(close)) {
      const std::size_t more = text.substr(k).find_first_not_of(quote);  // """ may follow quotes of the text
      return close.size() == 1 ? k + 1 : k + std::min<std::size_t>({more, text.size() - k, 5});
    }
    if (close.size() == 1 && text[k] == '\n') break;
    if (quote == '"' && text[k] == '\\') ++k;
  }
  return std::string_view::npos;
}

bool begins_quoted(char c) { return c == '#' || c == '"' || c == '\''; }

std::optional<DeepPlace> first_too_deep(std::string_view text) {
  std::size_t brackets = 0, dots = 0, first_dot = 0;
  // A text that is not closed hides nothing, because the parser may read it differently. If a text of several
  // lines is not closed, later texts are not closed either.
  char unclosed = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (begins_quoted(c) && !(unclosed == c && text.substr(i, 3) == std::string(3, c))) {
      const std::size_t next = behind_quoted(text, i);
      if (next != std::string_view::npos) i = next - 1;
      else if (text.substr(i, 3) == std::string(3, c)) unclosed = c;
      if (c == '#') dots = 0;
      continue;
    }
    if (c == '[' || c == '{') {
      if (++brackets > most_brackets) return DeepPlace{.begin = i, .end = i + 1, .key = false};
    } else if ((c == ']' || c == '}') && brackets > 0) {
      --brackets;
    }
    if (c == '.') {
      if (dots++ == 0) first_dot = i;
      if (dots >= most_parts) return DeepPlace{.begin = first_dot, .end = i + 1, .key = true};
    } else if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) {
      dots = 0;
    }
  }
  return std::nullopt;
}

std::string_view too_much_json(std::string_view text) {
  constexpr std::size_t deepest = 64, widest = 4096;
  struct Level {
    bool is_object;
    std::size_t members;
  };
  std::vector<Level> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      if (open.size() == deepest) return "it is nested too deeply";
      open.push_back({c == '{', 1});
    } else if (open.empty()) {
      continue;
    } else if (c == ']' || c == '}') {
      open.pop_back();
    } else if (c == ',' && ++open.back().members > widest && open.back().is_object) {
      return "an object in it has too many names";
    }
  }
  return {};
}

}  // namespace psim
