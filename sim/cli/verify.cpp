// psim verify.
#include "analysis/verify.hpp"

#include <fmt/format.h>

#include "sim/cli/command.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {

int verify(const std::string& directory, bool json) {
  try {
    const analysis::Verdict verdict = analysis::verify(directory);
    if (json) fmt::print("{}\n", analysis::document(verdict).dump(2));
    else fmt::print("{}", analysis::text(verdict));
    return verdict.holds() ? done : answer_is_no;
  } catch (const analysis::Unverifiable& nothing) {
    say("error: {}\n  = help: {}\n", nothing.what(), nothing.help);
    return bad_input;
  }
}

}  // namespace psim::cli
