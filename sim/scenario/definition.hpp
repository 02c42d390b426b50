// The meaning of an axis' value, in the words of `psim explain`.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/load.hpp"

namespace psim {

struct Definition {
  std::string field, value;  // "consistency.model", "ssp"
  std::string doc;           // empty if there is no text
  bool of_value = false;     // whether the text explains the value; otherwise it explains the field
};

// One entry per field, in the order of the value.
std::vector<Definition> definitions(const AxisValue& value);

}  // namespace psim
