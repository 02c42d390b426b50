// Numbers that belong to one row of a table, or to several rows: the coefficient of variation of a
// distribution, the bits of a filter. A row lists its settings; `Settings` holds the values of a scenario.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace psim {

// A span of simulated time.
struct Seconds {
  double value = 0;
};

using SettingValue = std::variant<double, std::int64_t, Seconds>;

// Rows may share a setting. Settings of different rows with the same key are one field of a scenario: the
// first setting gives everything except `required` and `draws`.
struct Setting {
  std::string_view key, doc;
  SettingValue value;  // the default; its type is the type of the field
  double min = -HUGE_VAL, max = HUGE_VAL;
  bool above_min = false, below_max = false;  // the bound itself is not allowed
  bool required = false;                      // a scenario that chooses the row must set it
  std::string_view default_text = {};         // in the reference, instead of `value`
  std::vector<std::string_view> draws = {};   // the fuzzer draws one, as TOML; none: it never sets the field
};
using SettingList = std::vector<const Setting*>;

class Settings {
 public:
  Settings() = default;
  Settings(std::initializer_list<std::pair<const std::string_view, SettingValue>> given) : values_(given) {}

  // The value as a number; times are in seconds.
  double of(const Setting& setting) const {
    const auto given = values_.find(setting.key);
    return std::visit([](const auto& value) { return number(value); },
                      given == values_.end() ? setting.value : given->second);
  }
  // For a parser: the place of the value.
  SettingValue& place_of(const Setting& setting) {
    return values_.try_emplace(setting.key, setting.value).first->second;
  }

 private:
  static double number(double value) { return value; }
  static double number(std::int64_t value) { return static_cast<double>(value); }
  static double number(Seconds value) { return value.value; }
  std::map<std::string_view, SettingValue> values_;
};

}  // namespace psim
