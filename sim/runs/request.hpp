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

// A scenario with overrides, and options of the run.
struct RunRequest {
  std::string scenario;                  // a file
  std::optional<std::string> text = {};  // of the scenario; then `scenario` is only a name
  std::vector<std::string> sets;         // KEY=VALUE
  std::optional<std::int64_t> seed;
  std::vector<std::string> data_dirs;
  std::string out;       // the folder for the run; empty: it is not kept
  unsigned threads = 0;  // 0: all cores
  bool force = false;    // run even if the run exists already, or memory seems too small
  std::string trace;     // none, steps or events
  std::string context;
  bool no_files = false;  // treat all files that the scenario names as missing
  bool costs = false;     // also make the run without its faults, if it is small, and record the difference
};

// The scenario and its overrides. Malformed overrides become diagnostics.
LoadRequest load_request(const RunRequest& request, Diagnostics& diagnostics);

// Loads the requested scenario. Throws Invalid with all mistakes. `notes` receives remarks for the user.
LoadedScenario load_for_run(const RunRequest& request, std::string* notes = nullptr);

// The parts of KEY=VALUE; nothing for any other text.
std::optional<Override> override_of(const std::string& set);

// The request without the seed of `seed` or of an override: for runs that get their own seeds.
template <class Request>
Request without_seed(Request request) {
  request.seed.reset();
  std::erase_if(request.sets, [](const std::string& set) {
    const std::optional<Override> one = override_of(set);
    return one && one->key == "seed";
  });
  return request;
}

// Folders to search for data before the scenario's folder: those of the request, then PSIM_DATA.
std::vector<fs::path> data_folders(const RunRequest& request);

RunIdentity identity_of(const Scenario& scenario, std::string name, std::string hash);
RunIdentity identity_of(const LoadedScenario& loaded, std::string name);

// `asked`, or the number of cores if that is 0.
unsigned thread_count(unsigned asked);

// runs/<name>-<first 8 digits of the hash>
fs::path run_directory(const std::string& name, const std::string& hash);

// The command line that makes the run: "psim run FILE --seed 3".
std::string command_line(const RunRequest& request, const std::string& program = "psim run");

}  // namespace psim
