// Two texts from the table of features.
#pragma once

#include <string>
#include <string_view>

namespace psim {

// docs/compatibility.md.
std::string compatibility_page();

// The needs and exclusions of the features with the name `name`, or switched on by the field `name` or by the
// choice `name`; empty if there are none.
std::string explain_needs(std::string_view name);

}  // namespace psim
