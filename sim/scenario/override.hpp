// Puts values into a parsed document from outside: --set and the axes of a comparison.
#pragma once

#include <string>
#include <string_view>

#include "sim/scenario/document.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

// Puts `value` where the dotted `key` says, which itself stands at `place`. A table is merged into the table
// that is there. A failure is an error of kind `code`.
void put(Document& document, std::string_view key, Place place, toml::node& value, const std::string& code,
         Diagnostics& diagnostics);

// Parses a --set argument and puts its value into the document.
void apply_override(Document& document, const Override& change, Diagnostics& diagnostics);

}  // namespace psim
