// What is read of a study's folder may be damaged, or made by hand: here is checked that all that psim reads
// of it is there, and is what it is read as.
#pragma once

#include <string>

#include "sim/runs/outcome.hpp"

namespace psim::study {

// The summary in a line of a journal. Throws DamagedRun, with what is wrong in it.
Json summary_of(const std::string& text, const std::string& run);

// Likewise, why the run took as long as it did.
Json cause_from(const std::string& text, const std::string& run);

// What [tune] found, in a manifest.
bool is_tuning(const Json& tuning);

}  // namespace psim::study
