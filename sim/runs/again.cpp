#include "sim/runs/again.hpp"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "sim/runs/refused.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

std::string value_of(const std::map<std::string, std::string>& texts, const std::string& key) {
  const auto found = texts.find(key);
  return found == texts.end() ? "" : found->second;
}

FinishedRun open_run(const fs::path& path) {
  for (const char* name : {"run.db", "scenario.toml", "summary.json"}) {
    if (!fs::is_regular_file(path / name))
      throw Refused(fmt::format("{} is not a run: {} is missing", path.string(), name),
                    "`psim run` makes one under runs/");
  }
  return {.path = path, .recorded = RecordedRun(path / "run.db"), .summary = summary_in(path)};
}

std::vector<std::string> data_dirs_of(const FinishedRun& run) {
  std::vector<std::string> folders;
  std::istringstream dirs(value_of(run.recorded.host, "data_dirs"));
  for (std::string line; std::getline(dirs, line);) folders.push_back(line);
  return folders;
}

LoadedScenario load_again(const FinishedRun& run) {
  Diagnostics diagnostics;
  LoadRequest request{.path = (run.path / "scenario.toml").string(), .overrides = {}, .data_dirs = {}};
  for (const std::string& dir : data_dirs_of(run)) request.data_dirs.emplace_back(dir);
  std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
  if (!loaded) throw Invalid{diagnostics.render()};
  return std::move(*loaded);
}

}  // namespace psim
