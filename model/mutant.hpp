// Mistakes made on purpose, to show that the tests find them: tests/mutants/mutants.txt says what each one
// breaks, and which test must fail then. Only the build `mutants` has them, and makes the one that the
// environment variable PSIM_MUTANT names; in every other build they are no code.
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
