// Four texts made from the fields' one description: JSON Schema, reference page, resolved echo, and where
// a misplaced key belongs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// JSON Schema (draft-07), for completion and checks in editors.
nlohmann::ordered_json scenario_schema();

// docs/scenario.md.
std::string scenario_reference();

// The scenario with every default written out, as TOML that reads back as the same scenario.
std::string resolved_toml(const Scenario& scenario);

// "`workers` belongs in [cluster]", or empty.
std::string home_of_key(std::string_view key);

// What `psim explain cluster.workers` prints, or `psim explain cluster`; empty when there is no such field
// and no such table.
std::string explain_field(std::string_view path);
// What every field says of its choice `name`, such as "none"; empty when no field has one of that name.
std::string explain_choice(std::string_view name);
// The names that the reader takes after a number, with their values, as a table in Markdown.
std::string unit_table();
// What a unit's name means, such as "ms"; empty where no quantity has it. Upper and lower case differ.
std::string explain_unit(std::string_view name);
// How many lists deep a value of the field or table `path` is: 0 for a number, 1 for a list of them.
std::size_t list_depth(std::string_view path);
// Whatever it knows, as table.key and as key.
std::vector<std::string> field_names();

}  // namespace psim
