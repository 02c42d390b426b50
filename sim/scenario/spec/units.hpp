// Quantities of a scenario. A number without a unit is an error, so every quantity is a string such as
// "50us". Sub-units divide by powers of ten: 50 / 1e6 is exactly 5e-05, 50 * 1e-6 is not.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/base/settings.hpp"  // Seconds

namespace psim {

struct Bytes {
  double value = 0;
};
struct BytesPerSecond {
  double value = 0;
};
struct FlopsPerSecond {
  double value = 0;
};
struct Watts {
  double value = 0;
};

struct UnitName {
  std::string_view name;
  double times;  // value in SI = number * times / divided
  double divided;
};

template <class Quantity>
struct Unit;  // `what` for people, `example`, and the names, the canonical SI name first

template <>
struct Unit<Seconds> {
  static constexpr std::string_view what = "a duration";
  static constexpr std::string_view example = "50us";
  static constexpr UnitName names[] = {{"s", 1, 1},    {"ns", 1, 1e9}, {"us", 1, 1e6},
                                       {"ms", 1, 1e3}, {"min", 60, 1}, {"h", 3600, 1}};
};
template <>
struct Unit<Bytes> {
  static constexpr std::string_view what = "a size";
  static constexpr std::string_view example = "64kB";
  static constexpr UnitName names[] = {{"B", 1, 1},         {"kB", 1e3, 1},        {"KB", 1e3, 1},
                                       {"MB", 1e6, 1},      {"GB", 1e9, 1},        {"KiB", 1024, 1},
                                       {"MiB", 1048576, 1}, {"GiB", 1073741824, 1}};
};
template <>
struct Unit<BytesPerSecond> {
  static constexpr std::string_view what = "a bandwidth";
  static constexpr std::string_view example = "10Gbps";
  static constexpr UnitName names[] = {{"Bps", 1, 1},    {"kBps", 1e3, 1}, {"KBps", 1e3, 1}, {"MBps", 1e6, 1},
                                       {"GBps", 1e9, 1}, {"bps", 1, 8},    {"kbps", 1e3, 8}, {"Kbps", 1e3, 8},
                                       {"Mbps", 1e6, 8}, {"Gbps", 1e9, 8}, {"Tbps", 1e12, 8}};
};
template <>
struct Unit<FlopsPerSecond> {
  static constexpr std::string_view what = "a computing speed";
  static constexpr std::string_view example = "10Gf";
  static constexpr UnitName names[] = {
      {"f", 1, 1}, {"kf", 1e3, 1}, {"Mf", 1e6, 1}, {"Gf", 1e9, 1}, {"Tf", 1e12, 1}};
};

template <>
struct Unit<Watts> {
  static constexpr std::string_view what = "a power";
  static constexpr std::string_view example = "300W";
  static constexpr UnitName names[] = {{"W", 1, 1}, {"mW", 1, 1e3}, {"kW", 1e3, 1}, {"MW", 1e6, 1}};
};

// "50us" -> 5e-05. Nothing if `text` is not a finite number followed by a name of the unit.
inline std::optional<double> parse_quantity(std::string_view text, std::span<const UnitName> names) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number - number != 0) return std::nullopt;
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  for (const UnitName& unit : names) {
    if (unit.name == suffix) return number * unit.times / unit.divided;
  }
  return std::nullopt;
}

// The shortest text that means the same number.
inline std::string shortest(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end};
}

// The shortest text with an SI prefix, "10Gf" instead of 1e+10. It means the same number.
template <class Quantity>
std::string format_quantity(Quantity quantity) {
  const std::span<const UnitName> names = Unit<Quantity>::names;
  std::string text = shortest(quantity.value) + std::string(names[0].name);
  if (text.find('e') == std::string::npos) return text;
  for (const UnitName& unit : names) {
    if (!unit.name.ends_with(names[0].name)) continue;  // min, h, Gbps
    std::string other = shortest(quantity.value / unit.times * unit.divided) + std::string(unit.name);
    if (other.size() < text.size() && parse_quantity(other, names) == quantity.value) text = std::move(other);
  }
  return text;
}

// A period in simulated time or in updates.
struct Period {
  Seconds time{0};
  std::int64_t updates = 0;  // if positive, `time` is not used

  bool by_updates() const { return updates > 0; }
};

// ... or in samples whose gradients the model has applied.
struct EvaluationPeriod : Period {
  std::int64_t samples = 0;  // if positive, the others are not used

  bool by_samples() const { return samples > 0; }
  bool by_time() const { return !by_updates() && !by_samples(); }
};

}  // namespace psim
