// The texts of a published study.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/study/files.hpp"
#include "sim/runs/outcome.hpp"
#include "sim/scenario/reference/citations.hpp"

namespace psim::study {

// The SPDX identifier of the licence `name`, in upper or lower case; empty: unknown to psim. psim knows only
// some of the hundreds of licences of SPDX (https://spdx.org/licenses/).
std::string_view spdx_of(std::string_view name);
// "MIT, Apache-2.0, ..."
std::string spdx_names();

// The authors of a study, and the licence of its results.
struct Publication {
  std::vector<std::string> authors;  // "Family, Given", or a name
  std::string license;               // SPDX, of the results; empty: not stated
};

// README.md, CITATION.cff, .zenodo.json, LICENSE.txt of the study with this manifest. The same study and
// publication give the same bytes.
std::vector<analysis::StudyFile> papers_of(const Json& manifest, const Publication& asked,
                                           const std::vector<Citation>& citations);

}  // namespace psim::study
