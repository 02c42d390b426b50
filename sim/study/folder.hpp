// A study as a folder. manifest.json says which runs belong to it, and journals (journal.hpp) hold what they
// gave; everything else is made from these two:
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
#include "sim/study/journal.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

// "studies/NAME-12345678"
fs::path study_directory(const Plan& plan);

// Throws Refused when a study must not be written to `dir`: it may be where nothing is, into an empty folder,
// or into the folder of a study.
void check_study_target(const fs::path& dir);

// manifest.json of a plan. `baseline`: an arm; empty: the first. Throws Refused where there is no such arm.
Json manifest_of(const Plan& plan, const Request& request, const std::string& baseline);

// Throws Refused where there is an arm to be named, and no arm has this name.
void check_baseline(const Plan& plan, const std::string& baseline);

// Makes the folder with its manifest.json and NAME.toml. Where other processes work on the same study
// (`is_shared`), it must not hold another one. Throws Refused.
void begin_study(const fs::path& dir, const Plan& plan, const Json& manifest, bool is_shared);

// The study in a folder, as its manifest says.
struct StudyFolder {
  // Throws Refused when there is no study, and DamagedRun when its manifest cannot be read.
  explicit StudyFolder(const fs::path& dir);

  fs::path dir;
  Json manifest;
  std::string name() const { return manifest["name"]; }  // of the scenario
  fs::path scenario() const { return dir / (name() + ".toml"); }
  // What makes its runs, from its own copy of the scenario, as `asked`. Data folders of before that are still
  // there are looked into, too.
  template <class AnyRequest>
  AnyRequest request(AnyRequest asked) const {
    asked.scenario = scenario().string();
    for (const Json& folder : manifest["data_dirs"]) {
      if (fs::is_directory(folder.get<std::string>())) asked.data_dirs.push_back(folder);
    }
    return asked;
  }
  std::vector<std::string> hashes() const;  // of the runs and then the trials, in order; some are there twice
};

bool is_study(const fs::path& dir);

// Whether files can be made in the folder; that of a published study may be there to be read alone.
bool can_be_written(const fs::path& dir);

// Removes what processes that were killed had begun to write. For the only process that works there.
void remove_unfinished(const fs::path& dir);
// A file that a process of this machine was about to put in the place of another one.
bool is_unfinished(std::string_view name);

// Throws Refused where no arm of the study has this name; an empty one is the baseline that it has.
void check_baseline(const StudyFolder& folder, const std::string& baseline);

// Another baseline for the study, in its folder, too, if that can be written. Throws Refused where no arm has
// this name.
void set_baseline(StudyFolder& folder, const std::string& baseline);

// Whether the folder holds another study than the one with this hash.
bool holds_another_study(const fs::path& dir, const std::string& study);

// The runs and trials of the manifest that the journal does not have.
std::vector<Json> missing_runs(const StudyFolder& folder, const Journal& journal);

// The results of a manifest's runs, or as many as there are.
analysis::Study results_of(const Json& manifest, const Journal& journal);

// Writes what is made from the results, and removes what was made of others. For a complete study.
void write_study(const StudyFolder& folder, Journal& journal, const analysis::Study& study,
                 const analysis::Evaluation& evaluation);

}  // namespace psim::study
