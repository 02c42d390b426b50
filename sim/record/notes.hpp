// Notes that a reader needs before he trusts a run's numbers: settings without an effect, and problems that
// are no errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/record/result.hpp"

namespace psim {

struct Note {
  std::string_view name;  // names the kind of note, in every run
  std::string text;       // may hold numbers of this run
};

// Warns of a failure detector that is faster than the network, with a remedy; empty if it is slow enough.
// `way`: seconds that the slowest heartbeat takes. A node sends its next heartbeat only after the last one
// has arrived, so the scheduler may hear nothing for `way` plus one interval.
std::string hasty_detector(const Scenario& scenario, double way);

// Says that the other workers will wait for ever after a planned crash; empty if they will not.
std::string waits_for_ever(const Scenario& scenario);

// In the order of the kinds. A pure function: equal runs have equal notes.
std::vector<Note> notes(const Scenario& scenario, const RunResult& result);

}  // namespace psim
