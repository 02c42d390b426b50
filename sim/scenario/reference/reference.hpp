// Four texts from the description of the fields: JSON Schema, reference page, resolved echo, and the right
// place of a misplaced key.
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// JSON Schema (draft-07), for completion and checks in editors.
nlohmann::ordered_json scenario_schema();

// docs/scenario.md.
std::string scenario_reference();

// The scenario with every default written out, as TOML of the same scenario.
std::string resolved_toml(const Scenario& scenario);

// "`workers` belongs in [cluster]", or empty.
std::string home_of_key(std::string_view key);

// What `psim explain cluster.workers` prints, or `psim explain cluster`; empty if there is no such field or
// table.
std::string explain_field(std::string_view path);
// The sentences of all fields about their choice `name`, such as "none"; empty if no field has this choice.
std::string explain_choice(std::string_view name);
// The units that the reader accepts after a number, with their values, as a table in Markdown.
std::string unit_table();
// The meaning of a unit, such as "ms"; empty if no quantity has this unit. Upper and lower case differ.
std::string explain_unit(std::string_view name);
// The depth of lists of a value of the field or table `path`: 0 for a number, 1 for a list of numbers.
std::size_t list_depth(std::string_view path);
// All known names, as table.key and as key.
std::vector<std::string> field_names();

// Two texts from the table of features.

// docs/compatibility.md.
std::string compatibility_page();

// The needs and exclusions of the features with the name `name`, or switched on by the field `name` or by the
// choice `name`; empty if there are none.
std::string explain_needs(std::string_view name);

// Topics of `psim explain` other than models and fields: measures, and the kinds of error. The texts are in
// topics.txt.
struct Topic {
  std::string_view name, aliases, title, text;  // aliases: separated by spaces
};

std::span<const Topic> topics();
// Training methods by the names of their papers (methods.txt). Indented lines of the text are a part of a
// scenario.
std::span<const Topic> methods();

}  // namespace psim
