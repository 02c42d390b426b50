// What a value of an axis sets, in the words of `psim explain`.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/load.hpp"

namespace psim {

struct Definition {
  std::string field, value;  // "consistency.model", "ssp"
  std::string doc;           // empty: there is no text
  bool of_value = false;     // the text says what this value is; otherwise what the field is
};

// By field, in the order of the value.
std::vector<Definition> definitions(const AxisValue& value);

}  // namespace psim
