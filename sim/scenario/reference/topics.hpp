// Topics of `psim explain` other than models and fields: measures, and the kinds of error. The texts are in
// topics.txt.
#pragma once

#include <string_view>
#include <vector>

namespace psim {

struct Topic {
  std::string_view name, aliases, title, text;  // aliases: separated by spaces
};

const std::vector<Topic>& topics();

}  // namespace psim
