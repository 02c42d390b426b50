// The names of every enumeration of a scenario, in the order of the enumerators.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "model/base/settings.hpp"
#include "model/base/table.hpp"
#include "sim/scenario/fields/fields.hpp"

namespace psim {

template <class Enum>
std::vector<Choice> choices();

template <class Enum>
ChoiceField choice(Enum& value) {
  return {choices<Enum>(), [&value] { return static_cast<std::size_t>(value); },
          [&value](std::size_t index) { value = static_cast<Enum>(index); }};
}

// What a row is, in one sentence.
std::string_view doc_of(const auto& row) { return row.doc; }
inline std::string_view doc_of(const ConsistencyRow& row) { return row.may_start; }

// The names of a table of rows.
template <class Row>
ChoiceField choice(Chosen<Row>& value) {
  std::vector<Choice> names;
  for (const Row& row : all_rows<Row>()) names.push_back({row.name, doc_of(row), row.aliases});
  return {std::move(names), [&value] { return value.index(); },
          [&value](std::size_t index) { value = Chosen<Row>::at(index); }};
}

// Names of the rows that `holds` accepts.
template <class Row, class Holds>
std::vector<std::string_view> names_of_rows(Holds&& holds) {
  std::vector<std::string_view> names;
  for (const Row& row : all_rows<Row>()) {
    if (holds(row)) names.push_back(row.name);
  }
  return names;
}

// What the fields of settings have in addition: a prefix of their names, and a need.
struct SettingFields {
  std::string_view prefix = {};
  Need need = {};
  std::string_view without = {};  // the setting that has no field
};

// Describes the field of a setting. The field has a meaning when `key` is one of `names`.
void describe_setting(FieldVisitor& visitor, std::string_view key, const Setting& setting,
                      std::vector<std::string_view> names, Settings& settings, const SettingFields& fields);

// Describes the fields of all settings of a table's rows, each once. `key`: the field that chooses the row.
template <class Row>
void describe_settings(FieldVisitor& visitor, std::string_view key, Settings& settings,
                       const SettingFields& fields = {}) {
  std::vector<std::string_view> described;
  for (const Row& row : all_rows<Row>()) {
    for (const Setting* setting : row.settings) {
      if (std::ranges::find(described, setting->key) != described.end()) continue;
      if (setting->key == fields.without) continue;
      described.push_back(setting->key);
      const auto has_it = [setting](const Row& other) {
        return std::ranges::find(other.settings, setting->key, &Setting::key) != other.settings.end();
      };
      describe_setting(visitor, key, *setting, names_of_rows<Row>(has_it), settings, fields);
    }
  }
}

template <class Row>
std::string_view name_of(Chosen<Row> value) {
  return value->name;
}
template <class Enum>
std::string_view name_of(Enum value) {
  return choices<Enum>()[static_cast<std::size_t>(value)].name;
}

}  // namespace psim
