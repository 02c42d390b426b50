// What a reader should know before believing a run's numbers: what was asked for and had no effect, and what
// went wrong without an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/record/result.hpp"

namespace psim {

struct Note {
  std::string_view name;  // of its kind; the same in every run that has it
  std::string text;       // may hold numbers of this run
};

// In the order of the kinds. A pure function: the same run has the same notes.
std::vector<Note> notes(const Scenario& scenario, const RunResult& result);

}  // namespace psim
