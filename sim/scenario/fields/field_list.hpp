// All fields and tables with their defaults, for pages and messages about them.
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
  FieldTarget target;                // in a scenario with only defaults
  std::optional<std::string> value;  // the default, as TOML
  std::string path() const { return table.empty() ? key : table + "." + key; }
};

struct DescribedTable {
  std::string path;
  std::string doc;
  bool repeated = false;
  std::optional<AnyField> any = {};
};

struct FieldList {
  std::vector<DescribedTable> tables;
  std::vector<DescribedField> fields;
  const DescribedField* find(std::string_view path) const;  // null: no such field
};
const FieldList& all_fields();    // of a run
const FieldList& study_fields();  // of [compare] and [tune]

// Describes when a field or a table has a meaning; empty: always.
std::string when_text(const FieldInfo& info);

// "straggler.0.slowdown" is described as "straggler.slowdown".
std::string without_numbers(std::string_view path);

// Whether the fields are the same, or one of them is in the other, a table.
bool overlap(std::string_view one, std::string_view other);

// Whether the key names [compare] or [tune], which are no fields of a run.
bool is_of_study(std::string_view key);

}  // namespace psim
