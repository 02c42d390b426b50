// The answers of `psim what-if`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/whatif/change.hpp"
#include "analysis/whatif/rerun.hpp"

namespace psim::analysis {

struct ChangeOutcome {
  Change change = {};
  std::vector<std::string> sets = {};        // KEY=VALUE: the fields that the re-run changes
  std::optional<Rerun> rerun = {};           // from the same random streams; none: not possible
  std::string no_rerun = {};                 // why not
  std::optional<SameSteps> same_steps = {};  // of the re-run; none: the run or the re-run got stuck
};

struct WhatIf {
  Rerun original;
  std::vector<ChangeOutcome> outcomes;
};

// For people. `width`: columns of the terminal.
std::string text(const WhatIf& what_if, const Facts& facts, std::size_t width);
// "psim.what-if/2"
Json document(const WhatIf& what_if);

}  // namespace psim::analysis
