// Paths in summary.json, as constants that the compiler checks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "sim/record/summary_schema.hpp"

namespace psim {

// Whether a summary may have this path, a JSON pointer. A number stands for an element of a list.
constexpr bool is_summary_path(std::string_view path) {
  std::span<const SummaryKey> keys = summary_keys;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    const auto key = std::ranges::find(keys, name, &SummaryKey::name);
    if (key == keys.end()) return false;
    if (key->holds == Holds::map || (key->holds == Holds::list && key->of.empty())) return true;
    keys = key->of;
    const bool is_element = path.size() > 1 && path[1] >= '0' && path[1] <= '9';
    if (key->holds == Holds::list && is_element) path.remove_prefix(std::min(path.find('/', 1), path.size()));
  }
  return path.empty();
}

// A path in a summary: "/target/given"_summary. An unknown path does not compile.
class SummaryPath {
 public:
  consteval SummaryPath(const char* text) : text_(text) {
    if (!is_summary_path(text)) throw "no path in summary.json";
  }
  operator std::string() const { return text_; }

 private:
  const char* text_;
};
consteval SummaryPath operator""_summary(const char* text, std::size_t) { return {text}; }

}  // namespace psim
