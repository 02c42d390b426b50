#include "sim/runs/shell.hpp"

namespace psim {

std::string shell_word(const std::string& text) {
  const bool plain =
      !text.empty() &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-=/:+,") ==
          std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string file_word(const fs::path& path) {
  const std::string text = path.string();
  return shell_word(text.starts_with('-') ? "./" + text : text);
}

std::string option_words(const std::string& name, const std::string& value) {
  return name + (value.starts_with('-') ? "=" : " ") + shell_word(value);
}

}  // namespace psim
