// Pages of runs and studies: where they are written, and what may be replaced there.
#pragma once

#include <string>

#include "analysis/study/study.hpp"
#include "sim/study/folder.hpp"

namespace psim::cli {

// Where a page goes: `out`, or report.html in `dir`. Throws Refused where that is a file that psim report did
// not make, or a folder.
fs::path page_target(const fs::path& dir, const std::string& out);

// Writes the page of a study, and says where it is.
void write_study_page(const study::StudyFolder& folder, const analysis::Study& study,
                      const analysis::Evaluation& evaluation, const fs::path& target);

}  // namespace psim::cli
