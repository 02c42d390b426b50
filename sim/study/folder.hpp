// A study as a folder. manifest.json lists its runs, and journals (journal.hpp) hold their results.
// Everything else is made from these two:
//
//   manifest.json   the study: its runs by arm, condition and seed, the program and the machine
//   NAME.toml       the scenario with its axes, as psim compare takes it
//   results.jsonl   the summary of every run, one a line; results/ while processes are at work
//   study.json      "psim.compare/2": what the runs say together
//   runs.csv, curves.csv, study.db     the same runs as tables
//   runs/           where --trace is given: the recorded runs
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/study/study.hpp"
#include "sim/runs/files.hpp"
#include "sim/study/journal.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

// "studies/NAME-12345678"
fs::path study_directory(const Plan& plan);

// Throws Refused unless `dir` does not exist, is empty, or is the folder of a study.
void check_study_target(const fs::path& dir);

// The manifest.json of a plan. `baseline`: an arm; empty: the first arm. Throws Refused if no arm has this
// name.
Json manifest_of(const Plan& plan, const Request& request, const std::string& baseline);

// Throws Refused if `baseline` is not empty and no arm has this name.
void check_baseline(const Plan& plan, const std::string& baseline);

// Makes the folder with its manifest.json and NAME.toml. If several processes work on the study
// (`is_shared`), the folder must not hold another study. Throws Refused.
void begin_study(const fs::path& dir, const Plan& plan, const Json& manifest, bool is_shared);

// The study in a folder, according to its manifest.
struct StudyFolder {
  // Throws Refused if the folder holds no study, and DamagedRun if its manifest cannot be read.
  explicit StudyFolder(const fs::path& dir);

  fs::path dir;
  Json manifest;
  std::string name() const { return manifest["name"]; }  // of the scenario
  fs::path scenario() const { return dir / (name() + ".toml"); }
  // The request that makes its runs from its own copy of the scenario, with the options of `asked`. It also
  // searches the earlier data folders that still exist.
  template <class AnyRequest>
  AnyRequest request(AnyRequest asked) const {
    asked.scenario = scenario().string();
    for (const Json& folder : manifest["data_dirs"]) {
      if (fs::is_directory(folder.get<std::string>())) asked.data_dirs.push_back(folder);
    }
    return asked;
  }
  std::vector<std::string> hashes()
      const;  // of the runs and then the trials, in order; a hash may occur twice
};

bool is_study(const fs::path& dir);

// Whether psim can make files in the folder. The folder of a published study may be read-only.
bool can_be_written(const fs::path& dir);

// Removes the unfinished files of killed processes. No other process may work in the folder.
void remove_unfinished(const fs::path& dir);

// Throws Refused if no arm of the study has this name. An empty name stands for the study's baseline.
void check_baseline(const StudyFolder& folder, const std::string& baseline);

// Sets another baseline of the study, also in its folder if that can be written. Throws Refused if no arm has
// this name.
void set_baseline(StudyFolder& folder, const std::string& baseline);

// Whether the folder holds a study with another hash.
bool holds_another_study(const fs::path& dir, const std::string& study);

// The runs and trials of the manifest that the journal lacks.
std::vector<Json> missing_runs(const StudyFolder& folder, const Journal& journal);

// The results of the manifest's runs that the journal has.
analysis::Study results_of(const Json& manifest, const Journal& journal);

// Writes the files made from the results, and removes those of older results. The study must be complete.
void write_study(const StudyFolder& folder, Journal& journal, const analysis::Study& study,
                 const analysis::Evaluation& evaluation);

// Locks of a study's folder. Any number of processes may work there. Meanwhile no process may rename or
// remove it.
class StudyLock {
 public:
  // Shares the folder with other processes that work on it. Makes the folder if it does not exist.
  static StudyLock to_work(const fs::path& dir);
  // Excludes all other processes. Returns nothing while another process works there. Without locks in the
  // file system it always succeeds.
  static std::optional<StudyLock> alone(const fs::path& dir);

 private:
  explicit StudyLock(OpenFile file) : file_(std::move(file)) {}
  OpenFile file_;
};

// The files in a study's folder, and which of them psim wrote.

// The list of files that psim archive adds to a study, with the SHA-256 of every file.
inline constexpr std::string_view archive_sums = "SHA256SUMS";

struct StudyContents {
  std::vector<fs::path> files;    // written by psim, relative to the folder, in order; without files of runs
  std::vector<fs::path> made;     // written by the programs among them: figures
  std::vector<fs::path> runs;     // folders of recorded runs, relative to the folder
  std::vector<fs::path> foreign;  // not written by psim
};

// `name`: the name of the study's scenario in its manifest.
StudyContents study_contents(const fs::path& dir, const std::string& name);

// The size of all files in a folder, in bytes.
std::uintmax_t bytes_in(const fs::path& dir);

// Removes the files of psim and its programs, the manifest last: after an interrupt the rest is still a
// study. Then removes the empty folders.
void remove_study(const fs::path& dir, const StudyContents& contents);

}  // namespace psim::study
