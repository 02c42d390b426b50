// Mistakes that are made on purpose, to show that `psim verify` finds them
// (tests/properties/verify_test.cpp). Only psim_mutant is built with them, and makes the one that PSIM_MUTANT
// names; in psim they are no code.
#pragma once

#include <cstdlib>
#include <string_view>

namespace psim {

#ifdef PSIM_MUTANTS
inline bool mutant(std::string_view name) {
  static const char* const chosen = std::getenv("PSIM_MUTANT");
  return chosen != nullptr && name == chosen;
}
#else
constexpr bool mutant(std::string_view) { return false; }
#endif

}  // namespace psim
