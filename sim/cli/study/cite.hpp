// What a study uses of others' work: psim itself, what its runs choose, and the statistics of its table.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/command.hpp"
#include "sim/scenario/reference/citations.hpp"

namespace psim::cli {

// `asked` has folders of data files. Throws Refused, DamagedRun, and Invalid where its scenario cannot be
// loaded.
std::vector<Citation> citations_of_study(const fs::path& dir, const Command& asked);

// In the order in which they are used, each once.
std::vector<const Reference*> works_of(const std::vector<Citation>& all);

// What is used and by which key it is cited, and the references.
std::string citation_text(const std::vector<Citation>& citations);
std::string citation_bibtex(const std::vector<Citation>& citations);

// `name`: of a study or a scenario; empty: psim alone.
int cite(const std::string& name, const Command& asked, bool as_bibtex);

}  // namespace psim::cli
