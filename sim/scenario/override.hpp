// Puts the values of --set and of the axes of a comparison into a parsed document.
#pragma once

#include <string>
#include <string_view>

#include "sim/scenario/load.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {

// Puts `value` at the dotted `key`, which is at `place`. Merges a table into an existing table. Reports a
// failure as an error of kind `code`.
void put(Document& document, std::string_view key, Place place, toml::node& value, const std::string& code,
         Diagnostics& diagnostics);

// Gives `consistency = "ssp 2"` its table, {model = "ssp", staleness = 2}.
void expand_consistency(toml::table& root);

// Puts the value of `text`, KEY = VALUE in line `line` of a source, into the document. Reports a failure as
// an error of kind `code`.
void apply_assignment(Document& document, const std::string& text, std::size_t source, std::uint32_t line,
                      const std::string& code, Diagnostics& diagnostics);

// The same with a --set argument.
void apply_override(Document& document, const Override& change, Diagnostics& diagnostics);

// The diagnostic for a field `key` at `place` that `other`, an option of the command line, also gives.
Diagnostic given_twice(const std::string& key, const Place& place, const Source& other);

// The same with an axis of [compare]. The axis replaces the file's value or axis of the field. To give the
// axis twice on the command line is an error.
void apply_axis(Document& document, const Override& axis, Diagnostics& diagnostics);

// The values of [compare]'s axes as texts.

// The name of a value in a table of results: a word, a list of words with commas, the values of a table with
// its name first, or several tables one after the other.
std::string label_of(const toml::node& node);

// As TOML on one line.
std::string toml_of(const toml::node& node);

// A whole document: toml++'s own formatter writes 0.2 as 0.20000000000000001.
std::string toml_document(const toml::table& root);

}  // namespace psim
