// One engine puts fields into a copy of a scenario: --set, axes and arms of [compare], [tune], [[group]] and
// designs of labs all become assignments.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/text/document.hpp"
#include "sim/scenario/text/toml_text.hpp"

namespace psim {

// A field, or a table of fields, and its value in a parsed text.
struct Assignment {
  std::string key;  // dotted
  Place place;      // of the key
  toml::node* value;
};
using Assignments = std::vector<Assignment>;

// Puts the values into the document, which takes them. A table is merged into an existing table. Reports a
// failure as an error of kind `code`.
void assign(Document& document, const Assignments& all, const std::string& code, Diagnostics& diagnostics);

// Parses a value, as field `v`, that begins at this line and column of a source, so that its nodes have their
// places.
ParsedText parse_value(const std::string& text, std::size_t source, std::uint32_t line, std::uint32_t column);

// The same as assign() for `text`, KEY = VALUE in line `line` of a source.
void assign_text(Document& document, const std::string& text, std::size_t source, std::uint32_t line,
                 const std::string& code, Diagnostics& diagnostics);
// KEY of KEY = VALUE.
std::string key_in(const std::string& text);
// VALUE as TOML.
std::string as_toml(const std::string& value);

// The same with a --set argument.
void apply_override(Document& document, const Override& change, Diagnostics& diagnostics);

// The same with an axis of [compare]. The axis replaces the file's value or axis of the field. To give the
// axis twice on the command line is an error.
void apply_axis(Document& document, const Override& axis, Diagnostics& diagnostics);
// The diagnostic for a field `key` at `place` that `other`, an option of the command line, also gives.
Diagnostic given_twice(const std::string& key, const Place& place, const Source& other);

// Gives `consistency = "ssp 2"` its table, {model = "ssp", staleness = 2}.
void expand_consistency(toml::table& root);

// Calls `use` with each field that `value`, of field `key`, sets. An empty table counts as a field.
using UseField = std::function<void(const std::string& key, const toml::node& value)>;
void each_field(const std::string& key, const toml::node& value, const UseField& use);
// The same with the fields of an expanded `consistency`, and without empty tables.
void each_expanded_field(const std::string& key, const toml::node& value, const UseField& use);
std::set<std::string> fields_of(const Assignments& all);

}  // namespace psim
