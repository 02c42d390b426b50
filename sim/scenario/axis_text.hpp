// The values of [compare]'s axes as texts.
#pragma once

#include <string>

#include "sim/scenario/text/document.hpp"

namespace psim {

// The name of a value in a table of results: a word, a list of words with commas, the values of a table with
// its name first, or several tables one after the other.
std::string label_of(const toml::node& node);

// As TOML on one line.
std::string toml_of(const toml::node& node);

// A whole document: toml++'s own formatter writes 0.2 as 0.20000000000000001.
std::string toml_document(const toml::table& root);

}  // namespace psim
