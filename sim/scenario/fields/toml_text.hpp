// Field values as TOML text. Reading the text gives the same value.
#pragma once

#include <optional>
#include <string>

#include "sim/scenario/fields/fields.hpp"

namespace psim {

std::string toml_string(std::string_view text);

// Nothing for an absent optional or an empty list: both mean "not given".
std::optional<std::string> toml_text(const FieldTarget& target);

}  // namespace psim
