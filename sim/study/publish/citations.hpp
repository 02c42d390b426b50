// What a study uses of others' work: psim itself, what its runs choose, and the statistics of its table.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/reference/citations.hpp"
#include "sim/study/folder.hpp"

namespace psim::study {

std::vector<Citation> citations_of_psim();

// Of psim, all runs of a scenario, and of how its arms are tuned. Throws Invalid where it cannot be loaded.
std::vector<Citation> citations_of_scenario(const Request& request);

// The same of a study, and of its statistics if it is complete. `data_dirs`: where to look for data files
// first. Throws Refused, DamagedRun, and Invalid where its scenario cannot be loaded.
std::vector<Citation> citations_of_study(const StudyFolder& folder,
                                         const std::vector<std::string>& data_dirs);

// In the order in which they are used, each once.
std::vector<const Reference*> works_of(const std::vector<Citation>& all);

// What is used and by which key it is cited, and the references.
std::string citation_text(const std::vector<Citation>& citations);
std::string citation_bibtex(const std::vector<Citation>& citations);

}  // namespace psim::study
