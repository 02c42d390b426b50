// Deliberate mistakes, to show that the tests find them. tests/mutants/mutants.txt says what each one breaks,
// and which test must fail then. Only the build `mutants` contains them; the environment variable PSIM_MUTANT
// activates one. Every other build contains no trace of them.
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
