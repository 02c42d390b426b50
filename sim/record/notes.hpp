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

// What a detector that is faster than the network does, and what helps; empty where it is slow enough.
// `way`: seconds that the slowest heartbeat takes. A node that has a heartbeat on its way sends the next one
// when that has arrived, so the scheduler may hear nothing for as long as the way and an interval together.
std::string hasty_detector(const Scenario& scenario, double way);

// In the order of the kinds. A pure function: the same run has the same notes.
std::vector<Note> notes(const Scenario& scenario, const RunResult& result);

}  // namespace psim
