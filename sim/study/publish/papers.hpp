// The texts of a published study.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/study/files.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/scenario/reference/citations.hpp"
#include "sim/study/folder.hpp"

struct archive;

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

// A study as a .tar.gz. Its bytes do not depend on the user, time or machine: it has no owners, a fixed order
// and one date.
class Tarball {
 public:
  // `root`: the top folder of the archive. Throws std::filesystem::filesystem_error.
  Tarball(const fs::path& file, const std::string& root);
  ~Tarball();
  Tarball(const Tarball&) = delete;
  Tarball& operator=(const Tarball&) = delete;

  // Adds a file at a path relative to the root, and the folders of that path.
  void add(const std::string& name, const std::string& content);
  // Completes the archive and writes it to the disk.
  void finish();

 private:
  void add_folder(const fs::path& folder);
  void check(int result);

  struct Free {
    void operator()(struct ::archive* writer) const;
  };
  fs::path file_, root_;
  std::set<fs::path> folders_;  // already in the archive
  std::unique_ptr<struct ::archive, Free> writer_;
};

// Whether psim archive wrote the file: then it begins with a folder and the manifest of a study.
bool is_study_archive(const fs::path& file);

// Works to cite for a study: psim itself, the methods of its runs, and the statistics of its table.
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
