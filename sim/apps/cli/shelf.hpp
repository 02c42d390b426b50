// The shared part of psim studies and psim runs: finds, renames and lists kept folders.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/word_docs.hpp"
#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// Folders of one kind.
struct Shelf {
  const char *one, *many;  // "study", "studies"
  fs::path home;           // their place: studies/, runs/ or the folder of --in
  std::function<bool(const fs::path&)> holds;
};

// The folder that NAME means: `latest`, a name on the shelf, or a path. Throws Refused, with the most similar
// name.
fs::path found_on(const Shelf& shelf, const std::string& name);

// The same for a name on either shelf: a path, or else a study, or else a run.
fs::path run_or_study(const std::string& name);

// The options of "psim studies WORDS..." and "psim runs WORDS...".
struct ShelfCommand {
  std::vector<std::string> words;  // a pattern; rename OLD NEW; remove NAME...
  std::string in;                  // the folder, if not studies/ or runs/
  bool json = false;
  std::string study;                // only runs of this study
  std::vector<std::string> wheres;  // KEY=VALUE
};
int studies(const ShelfCommand& asked);
int runs(const ShelfCommand& asked);

// The shelves of studies and of runs, for commands that take a name.
Shelf studies_shelf();
Shelf runs_shelf();

}  // namespace psim::cli
