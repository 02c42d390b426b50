// The texts that go with a study when it is published.
#pragma once

#include <string>
#include <vector>

#include "analysis/study/files.hpp"
#include "sim/cli/study/archive.hpp"
#include "sim/cli/study/folder.hpp"
#include "sim/scenario/reference/citations.hpp"

namespace psim::cli {

// The SPDX identifier of a licence for results or code that `name` is, in whatever case; empty: none that
// psim knows. Not all of SPDX, which has hundreds (https://spdx.org/licenses/).
std::string_view spdx_of(std::string_view name);
// "MIT, Apache-2.0, ..."
std::string spdx_names();

// README.md, CITATION.cff, .zenodo.json, LICENSE.txt. The same study and options give the same bytes.
std::vector<analysis::StudyFile> archive_papers(const StudyFolder& folder, const ArchiveCommand& asked,
                                                const std::vector<Citation>& citations);

}  // namespace psim::cli
