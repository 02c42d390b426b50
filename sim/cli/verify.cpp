// psim verify.
#include "analysis/verify.hpp"

#include <fmt/format.h>

#include "sim/cli/command.hpp"

namespace psim::cli {

int verify(const std::string& directory, bool json) {
  const analysis::Verdict verdict = analysis::verify(directory);
  if (json) fmt::print("{}\n", analysis::document(verdict).dump(2));
  else fmt::print("{}", analysis::text(verdict));
  return verdict.holds() ? done : answer_is_no;
}

}  // namespace psim::cli
