// Files in a study's folder may be damaged or made by hand. These functions check that every value that psim
// reads is present and has the expected type.
#pragma once

#include <string>

#include "sim/runs/answer.hpp"

namespace psim::study {

// The summary in a line of a journal. Throws DamagedRun, with the mistake.
Json summary_of(const std::string& text, const std::string& run);

// The cause in a line of a journal: what took the time of the run. Throws DamagedRun, with the mistake.
Json cause_from(const std::string& text, const std::string& run);

// Whether `tuning` is the result of [tune] in a manifest.
bool is_tuning(const Json& tuning);

}  // namespace psim::study
