// Other names of the fields and choices of a scenario.
#pragma once

#include <string_view>
#include <vector>

namespace psim {

// The names in a scenario that `word`, in lower case, may mean, the likeliest first. Empty for an unknown
// word.
std::vector<std::string_view> meanings(std::string_view word);

// What to write instead of a word of other programs, in lower case, that means more than one name; empty for
// other words.
std::string_view advice_on(std::string_view word);

}  // namespace psim
