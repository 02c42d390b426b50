// Two texts made from the table of features.
#pragma once

#include <string>
#include <string_view>

namespace psim {

// docs/compatibility.md.
std::string compatibility_page();

// What the features called `name`, switched on by field `name`, or by the choice `name` of a field, need and
// take away; empty when there is none.
std::string explain_needs(std::string_view name);

}  // namespace psim
