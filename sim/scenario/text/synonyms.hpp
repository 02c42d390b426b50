// What others call what a scenario calls otherwise.
#pragma once

#include <string_view>
#include <vector>

namespace psim {

// The names of a scenario that `word`, in lower case, may stand for; the likeliest first. Empty when it is
// not known.
std::vector<std::string_view> meanings(std::string_view word);

}  // namespace psim
