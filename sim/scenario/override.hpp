// Puts values into a parsed document from outside: --set and the axes of a comparison.
#pragma once

#include <string>
#include <string_view>

#include "sim/scenario/load.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {

// Puts `value` where the dotted `key` says, which itself stands at `place`. A table is merged into the table
// that is there. A failure is an error of kind `code`.
void put(Document& document, std::string_view key, Place place, toml::node& value, const std::string& code,
         Diagnostics& diagnostics);

// Gives `consistency = "ssp 2"` its table, {model = "ssp", staleness = 2}.
void expand_consistency(toml::table& root);

// Puts the value of `text`, KEY = VALUE, which is line `line` of a source, into the document. A failure is an
// error of kind `code`.
void apply_assignment(Document& document, const std::string& text, std::size_t source, std::uint32_t line,
                      const std::string& code, Diagnostics& diagnostics);

// The same with a --set argument.
void apply_override(Document& document, const Override& change, Diagnostics& diagnostics);

// Says that the field `key`, given at `place`, stands in `other` as well, an option of the command line.
Diagnostic given_twice(const std::string& key, const Place& place, const Source& other);

// The same with an axis of [compare]. It takes the place of what the file says of the field; to have it twice
// on the command line is an error.
void apply_axis(Document& document, const Override& axis, Diagnostics& diagnostics);

}  // namespace psim
