// All fields and tables as they are declared, with their defaults: for texts about them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/fields/fields.hpp"

namespace psim {

struct DescribedField {
  std::string table;  // "", "cluster.network", "straggler"
  std::string key;
  FieldInfo info;
  FieldTarget target;                // of a scenario of defaults
  std::optional<std::string> value;  // the default, as TOML
  std::string path() const { return table.empty() ? key : table + "." + key; }
};

struct DescribedTable {
  std::string path;
  std::string doc;
  bool repeated = false;
};

struct FieldList {
  std::vector<DescribedTable> tables;
  std::vector<DescribedField> fields;
  const DescribedField* find(std::string_view path) const;  // null: there is none
};
const FieldList& all_fields();

// When a field or a table has a meaning; empty: always.
std::string when_text(const FieldInfo& info);

// "straggler.0.slowdown" is described as "straggler.slowdown".
std::string without_numbers(std::string_view path);

}  // namespace psim
