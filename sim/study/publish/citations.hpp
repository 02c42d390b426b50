// Works to cite for a study: psim itself, the methods of its runs, and the statistics of its table.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/reference/citations.hpp"
#include "sim/study/folder.hpp"

namespace psim::study {

std::vector<Citation> citations_of_psim();

// Works for psim, all runs of a scenario, and their tuning. Throws Invalid if the scenario cannot be loaded.
std::vector<Citation> citations_of_scenario(const Request& request);

// The same for a study, and for its statistics if it is complete. `data_dirs`: folders to search for data
// files first. Throws Refused, DamagedRun, and Invalid if its scenario cannot be loaded.
std::vector<Citation> citations_of_study(const StudyFolder& folder,
                                         const std::vector<std::string>& data_dirs);

// The references in the order of their use, each once.
std::vector<const Reference*> works_of(const std::vector<Citation>& all);

// The parts that are used, with their citation keys, and the references.
std::string citation_text(const std::vector<Citation>& citations);
std::string citation_bibtex(const std::vector<Citation>& citations);

}  // namespace psim::study
