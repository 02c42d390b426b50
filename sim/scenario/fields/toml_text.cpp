#include "sim/scenario/fields/toml_text.hpp"

#include <fmt/format.h>

#include <type_traits>

namespace psim {
namespace {

// A TOML float needs a point or an exponent.
std::string number(double value) {
  std::string text = shortest(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::optional<std::string> text_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::int64_t>) return fmt::to_string(value);
  else if constexpr (std::is_same_v<T, double>) return number(value);
  else if constexpr (std::is_same_v<T, std::string>) return toml_string(value);
  else if constexpr (std::is_base_of_v<Period, T>) {
    if constexpr (std::is_same_v<T, EvaluationPeriod>)
      if (value.by_samples()) return fmt::format("\"{} samples\"", value.samples);
    return value.by_updates() ? fmt::format("\"{} updates\"", value.updates)
                              : fmt::format("\"{}\"", format_quantity(value.time));
  } else if constexpr (std::is_same_v<T, Speeds>) {
    if (!value.of_platform.empty()) return std::nullopt;
    if (value.values.size() == 1) return text_of(value.values[0]);
    return text_of(value.values);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? text_of(*value) : std::nullopt;
  } else if constexpr (requires { typename T::value_type; }) {
    if (value.empty()) return std::nullopt;
    std::string out = "[";
    for (const auto& element : value) {
      if (out.size() > 1) out += ", ";
      out += text_of(element).value_or("[]");
    }
    return out + "]";
  } else {
    return fmt::format("\"{}\"", format_quantity(value));
  }
}

}  // namespace

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else out += c;
  }
  return out + "\"";
}

std::optional<std::string> toml_text(const FieldTarget& target) {
  return std::visit(
      [](const auto& value) -> std::optional<std::string> {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(value)>>) return text_of(*value);
        else return toml_string(value.choices[value.get()].name);
      },
      target);
}

}  // namespace psim
