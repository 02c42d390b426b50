// A finished run, to be made once more.
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

// Throws Refused for what is no run, and DamagedRun.
FinishedRun open_run(const fs::path& path);

// The folders in which it found its data.
std::vector<std::string> data_dirs_of(const FinishedRun& run);

// Its scenario, with the data in the folders in which it was found. Throws Invalid.
LoadedScenario load_again(const FinishedRun& run);

// Empty where there is none.
std::string value_of(const std::map<std::string, std::string>& texts, const std::string& key);

}  // namespace psim
