// The request for a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/record/result.hpp"
#include "sim/record/summary.hpp"
#include "sim/runs/files.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

// A scenario with overrides, and how it is run.
struct RunRequest {
  std::string scenario;                  // a file
  std::optional<std::string> text = {};  // of the scenario, which then only has the file's name
  std::vector<std::string> sets;         // KEY=VALUE
  std::optional<std::int64_t> seed;
  std::vector<std::string> data_dirs;
  std::string out;       // the folder that keeps the run; empty: none does
  unsigned threads = 0;  // 0: as many as the machine has
  bool force = false;    // even if the run is there already, or memory seems too small
  std::string trace;     // none, steps or events
  std::string context;
  bool no_files = false;  // whatever files the scenario names are not there
};

// The scenario and its overrides as asked for; malformed overrides become diagnostics.
LoadRequest load_request(const RunRequest& request, Diagnostics& diagnostics);

// The scenario that is asked for. Throws Invalid with all that is wrong. `notes`: gets what is worth saying.
LoadedScenario load_for_run(const RunRequest& request, std::string* notes = nullptr);

// The parts of KEY=VALUE; nothing for another text.
std::optional<Override> override_of(const std::string& set);

// Without the one seed that `seed` or an override give: for runs with seeds of their own.
template <class Request>
Request without_seed(Request request) {
  request.seed.reset();
  std::erase_if(request.sets, [](const std::string& set) {
    const std::optional<Override> one = override_of(set);
    return one && one->key == "seed";
  });
  return request;
}

// Where to look for data before the scenario's own folder: those of the request, then PSIM_DATA.
std::vector<fs::path> data_folders(const RunRequest& request);

RunIdentity identity_of(const LoadedScenario& loaded, std::string name);

// As many as the machine has where none are asked for.
unsigned thread_count(unsigned asked);

// runs/<name>-<first 8 digits of the hash>
fs::path run_directory(const std::string& name, const std::string& hash);

// The command line that makes the run: "psim run FILE --seed 3".
std::string command_line(const RunRequest& request, const std::string& program = "psim run");

}  // namespace psim
