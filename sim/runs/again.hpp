// Opens a finished run, to make it once more.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/record/run_file.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/outcome.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

struct FinishedRun {
  fs::path path;
  RecordedRun recorded;
  Json summary;
};

// Throws Refused if `path` is no run, and DamagedRun.
FinishedRun open_run(const fs::path& path);

// The folders where the run found its data.
std::vector<std::string> data_dirs_of(const FinishedRun& run);

// The run's scenario, with the data from the same folders. Throws Invalid.
LoadedScenario load_again(const FinishedRun& run);

// Empty if `texts` lacks the key.
std::string value_of(const std::map<std::string, std::string>& texts, const std::string& key);

}  // namespace psim
