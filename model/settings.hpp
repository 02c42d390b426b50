// Numbers that belong to one row of a table, or to a few: the coefficient of variation of a distribution, the
// bits of a filter. A row lists its settings; what a scenario says of them stands in `Settings`.
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

// Rows may share a setting. Settings of different rows with the same key are one field of a scenario: all but
// `required` and `draws` are then the first one's.
struct Setting {
  std::string_view key, doc;
  SettingValue value;  // unless a scenario says otherwise; its type is the field's
  double min = -HUGE_VAL, max = HUGE_VAL;
  bool above_min = false, below_max = false;  // the bound itself is not allowed
  bool required = false;                      // a scenario that chooses the row must say it
  std::string_view default_text = {};         // in the reference, instead of `value`
  std::vector<std::string_view> draws = {};   // values that the fuzzer draws from, as TOML; none: never given
};
using SettingList = std::vector<const Setting*>;

class Settings {
 public:
  Settings() = default;
  Settings(std::initializer_list<std::pair<const std::string_view, SettingValue>> given) : values_(given) {}

  // As a number; times are in seconds.
  double of(const Setting& setting) const {
    const auto given = values_.find(setting.key);
    return std::visit([](const auto& value) { return number(value); },
                      given == values_.end() ? setting.value : given->second);
  }
  // For a reader: where it belongs.
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
