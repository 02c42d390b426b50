// psim verify.
#include "analysis/verify.hpp"

#include <fmt/format.h>

#include "sim/cli/command.hpp"
#include "sim/cli/study/shelf.hpp"

namespace psim::cli {

// `name`: a path, or a name on the shelf of runs, as psim replay takes it.
int verify(const std::string& name, bool json) {
  const bool is_path = fs::exists(fs::symlink_status(name));
  const fs::path directory = is_path ? fs::path(name) : found_on(runs_shelf(), name);
  const analysis::Verdict verdict = analysis::verify(directory);
  if (json) fmt::print("{}\n", analysis::document(verdict).dump(2));
  else fmt::print("{}", analysis::text(verdict));
  return verdict.holds() ? done : answer_is_no;
}

}  // namespace psim::cli
