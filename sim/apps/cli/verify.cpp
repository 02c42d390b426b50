// psim verify.
#include "analysis/verify.hpp"

#include <fmt/format.h>

#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/understand.hpp"

namespace psim::cli {

// `name`: a path, or a name on the shelf of runs, as in psim replay.
int verify(const std::string& name, bool json) {
  const analysis::Verdict verdict = analysis::verify(run_named(name));
  if (json) fmt::print("{}\n", analysis::document(verdict).dump(2));
  else fmt::print("{}", analysis::text(verdict));
  return verdict.holds() ? done : answer_is_no;
}

}  // namespace psim::cli
