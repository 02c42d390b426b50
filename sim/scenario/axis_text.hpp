// The values of [compare]'s axes as texts.
#pragma once

#include <string>

#include "sim/scenario/text/document.hpp"

namespace psim {

// What a value is called in a table: a word as it is, a list of words with commas, a table as its values, its
// name first, and tables one after the other.
std::string label_of(const toml::node& node);

// On one line, to be read again.
std::string toml_of(const toml::node& node);

// A whole document: toml++'s own formatter writes 0.2 as 0.20000000000000001.
std::string toml_document(const toml::table& root);

}  // namespace psim
