// Pages of runs and studies, and the rules for replacing files with them.
#pragma once

#include <string>

#include "analysis/study/study.hpp"
#include "sim/study/folder.hpp"

namespace psim::cli {

// The file of a page: `out`, or report.html in `dir`. Throws Refused if it exists and is not a page of psim
// report.
fs::path page_target(const fs::path& dir, const std::string& out);

// Writes the page of a study, and prints its path.
void write_study_page(const study::StudyFolder& folder, const analysis::Study& study,
                      const analysis::Evaluation& evaluation, const fs::path& target);

}  // namespace psim::cli
