// Texts of the reader about types, ranges, units and names.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/text/number_in.hpp"

namespace psim {

// The smallest value of a scenario other than 0. The inverse of a smaller value is not a number.
constexpr double least_number = 1e-30;

inline std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a text";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number";
    case toml::node_type::boolean: return "true or false";
    default: return "a date or time";
  }
}

template <class Quantity>
std::string unit_names() {
  std::vector<std::string_view> names;
  for (const UnitName& unit : Unit<Quantity>::names) names.push_back(unit.name);
  return fmt::format("units: {}", fmt::join(names, ", "));
}

inline bool named(const Choice& choice, std::string_view name) {
  const std::vector<std::string> names = all_names({choice});
  return std::ranges::find(names, name) != names.end();
}

inline std::string range_text(const FieldInfo& info, std::string_view unit) {
  const bool low = info.min > -HUGE_VAL, high = info.max < HUGE_VAL;
  const auto shown = [unit](double bound) {
    const bool whole = bound == std::floor(bound) && std::abs(bound) < 1e16;
    return (whole ? fmt::format("{:.0f}", bound) : shortest(bound)) + std::string(unit);
  };
  const std::string min = shown(info.min), max = shown(info.max);
  const std::string at_least = fmt::format("{} {}", info.above_min ? "above" : "at least", min);
  const std::string at_most = fmt::format("{} {}", info.below_max ? "below" : "at most", max);
  if (low && high && !info.above_min && !info.below_max) return fmt::format("between {} and {}", min, max);
  if (low && high) return at_least + " and " + at_most;
  return low ? at_least : high ? at_most : "finite";
}

// "Number of workers." -> "number of workers"
inline std::string as_hint(std::string_view sentence) {
  if (sentence.ends_with('.')) sentence.remove_suffix(1);
  std::string out(sentence);
  if (!out.empty() && out[0] >= 'A' && out[0] <= 'Z') out[0] = static_cast<char>(out[0] - 'A' + 'a');
  return out;
}

// The hint for "0,2": a number with a decimal comma, or several values.
inline std::string with_decimal_point(std::string text, bool whole) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos || text.find_first_not_of("0123456789,. +-eE") != std::string::npos)
    return "";
  const std::string list = text;
  text[comma] = '.';
  return number_in<double>(text) && !whole
             ? fmt::format("a decimal point: {}; or, for `psim compare`, a list: [{}]", text, list)
             : fmt::format("for `psim compare`, a list: [{}]", list);
}

// The hint for a value of the wrong type where a number or true or false is expected.
inline std::string mend(const toml::node& node, bool whole = false) {
  if (const auto text = node.value_exact<std::string>()) {
    const auto number = number_in<double>(*text);
    const bool plain = number || *text == "true" || *text == "false";
    const bool digits = text->find_first_not_of("+-0123456789") == std::string::npos;
    if (plain && digits && std::abs(*number) > 9.2e18)
      return "the number is too large: at most 9223372036854775807";
    if (plain) return fmt::format("write {} without quotes", *text);
    return with_decimal_point(*text, whole);
  }
  const auto number = node.value_exact<double>();
  return number && *number == std::floor(*number) && std::abs(*number) < 1e15
             ? fmt::format("write {}", *number)
             : "";
}

// "straggler.0" -> "[[straggler]]", "cluster" -> "[cluster]"
inline std::string header_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const bool element =
      dot != std::string::npos && path.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return element ? fmt::format("[[{}]]", path.substr(0, dot)) : fmt::format("[{}]", path);
}

inline std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

inline std::string parent_of(const std::string& path) {
  return path.substr(0, path.find('.') == std::string::npos ? 0 : path.rfind('.'));
}

// The last parts of the `paths` that are directly in table `parent`.
inline std::vector<std::string> keys_of(const std::vector<std::string>& paths, const std::string& parent) {
  std::vector<std::string> keys;
  for (const std::string& path : paths) {
    if (parent_of(path) == parent) keys.emplace_back(last_part(path));
  }
  return keys;
}

}  // namespace psim
