// Texts of the reader about types, ranges, units and names.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/unicode.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/text/diagnostics.hpp"

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

// The units of other programs, and what they are here: a suffix in lower case, and the end of psim's name.
struct ForeignUnit {
  std::string_view suffix, ours;
  double times = 1;
};
constexpr ForeignUnit foreign_units[] = {{"bits/s", "bps"},
                                         {"bit/s", "bps"},
                                         {"bits", "bps"},
                                         {"bit", "bps"},
                                         {"bytes/s", "Bps"},
                                         {"byte/s", "Bps"},
                                         {"bytes", "B"},
                                         {"byte", "B"},
                                         {"flops/s", "f"},
                                         {"flop/s", "f"},
                                         {"flops", "f"},
                                         {"flop", "f"},
                                         {"seconds", "s"},
                                         {"second", "s"},
                                         {"secs", "s"},
                                         {"sec", "s"},
                                         {"minutes", "min"},
                                         {"minute", "min"},
                                         {"mins", "min"},
                                         {"hours", "h"},
                                         {"hour", "h"},
                                         {"hrs", "h"},
                                         {"hr", "h"},
                                         {"watts", "W"},
                                         {"watt", "W"},
                                         {"days", "h", 24},
                                         {"day", "h", 24},
                                         {"d", "h", 24},
                                         {"tb", "GB", 1e3},
                                         {"tib", "GiB", 1024},
                                         {"pf", "Tf", 1e3},
                                         {"m", "min"},
                                         {"be", "bps"},
                                         {"kib/s", "kBps", 1.024},
                                         {"mib/s", "MBps", 1.048576},
                                         {"gib/s", "GBps", 1.073741824}};

// "10Gbit/s" -> "10Gbps", "16Gi" -> "16GiB", "5 msec" -> "5ms"; empty: unknown.
inline std::string meant_quantity(std::string_view text, std::span<const UnitName> names) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  std::erase(unit, ' ');
  if (error != std::errc{} || unit.empty() || number - number != 0) return {};
  for (const auto& [word, letter] : {std::pair{"milli", "m"},
                                     {"micro", "u"},
                                     {"µ", "u"},
                                     {"nano", "n"},
                                     {"kilo", "k"},
                                     {"mega", "M"},
                                     {"giga", "G"},
                                     {"tera", "T"}}) {
    if (in_small_letters(unit).starts_with(word)) unit.replace(0, std::string_view(word).size(), letter);
  }
  std::vector<std::pair<std::string, double>> forms{{unit, 1}};
  for (const ForeignUnit& one : foreign_units) {
    if (!in_small_letters(unit).ends_with(one.suffix)) continue;
    const std::string prefix = unit.substr(0, unit.size() - one.suffix.size());
    if (one.times == 1 || prefix.empty()) forms.emplace_back(prefix + std::string(one.ours), one.times);
  }
  for (std::size_t i = 0, count = forms.size(); i < count; ++i) {
    std::string form = forms[i].first;
    if (form.ends_with("/s")) form.resize(form.size() - 2);
    for (const char* more : {"ps", "B", "bps", "f"}) forms.emplace_back(form + more, forms[i].second);
  }
  for (const std::size_t any_case : {std::size_t{0}, std::size_t{1}, unit.size() + 4}) {  // first letters
    for (const auto& [form, times] : forms) {
      for (const UnitName& ours : names) {
        const std::size_t exact = std::min({any_case, form.size(), ours.name.size()});
        if (in_small_letters(form) == in_small_letters(std::string(ours.name)) &&
            form.substr(exact) == ours.name.substr(exact))
          return shortest(number * times) + std::string(ours.name);
      }
    }
  }
  return {};
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
    const bool is_toml = !number || (text->front() != '.' && text->back() != '.');
    if (plain) return fmt::format("write {} without quotes", is_toml ? *text : fmt::format("{}", *number));
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
