// Which of the deliberate mistakes of mutants.txt this process makes: the environment variable PSIM_MUTANT
// names it. Only the copy of the sources that run.sh makes includes this.
#pragma once

#include <cstdlib>
#include <string_view>

namespace psim {

inline bool mutant(std::string_view name) {
  static const char* const chosen = std::getenv("PSIM_MUTANT");
  return chosen != nullptr && name == chosen;
}

}  // namespace psim
