#include "sim/runs/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

LoadRequest load_request(const RunRequest& asked, Diagnostics& diagnostics) {
  LoadRequest request{.path = asked.scenario,
                      .text = asked.text,
                      .overrides = {},
                      .data_dirs = data_folders(asked),
                      .without_files = asked.no_files};
  const auto reject = [&diagnostics](const char* code, Source source, const char* message, const char* label,
                                     const char* help) {
    const auto end = static_cast<std::uint32_t>(source.text.size() + 1);
    Place place{.source = diagnostics.add_source(std::move(source))};
    if (*label != '\0') place = {place.source, 1, 1, 1, end};
    diagnostics.add({.code = code, .place = place, .message = message, .label = label, .help = help});
  };
  if (!is_utf8(scenario_name(asked.scenario)))
    reject("file", {asked.scenario, ""}, "the name of this file is not UTF-8", "",
           "rename it: a run takes the name of its scenario");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (std::ranges::any_of(scenario_name(asked.scenario), is_control))
    reject("file", {asked.scenario, ""}, "the name of this file has a control character", "",
           "rename it: a run takes the name of its scenario");
  for (const std::string& set : asked.sets) {
    const std::optional<Override> one = override_of(set);
    if (!one)
      reject("set", {"--set", set}, "an override needs a key and a value", "expected key=value",
             "for example --set cluster.workers=16");
    else if (request.overrides.push_back(*one); asked.seed && one->key == "seed")
      reject("set", {"--set", set}, "the seed is given twice", "and by --seed", "remove one of them");
  }
  if (asked.seed) request.overrides.push_back({"seed", std::to_string(*asked.seed)});
  for (const std::string& dir : asked.data_dirs) {
    std::error_code error;
    if (!fs::is_directory(dir, error))
      reject("data", {"--data-dir " + dir, ""}, "this folder does not exist", "",
             "name the folder that holds the data files");
  }
  return request;
}

LoadedScenario load_for_run(const RunRequest& asked, std::string* notes) {
  Diagnostics diagnostics;
  const LoadRequest request = load_request(asked, diagnostics);
  std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
  if (!loaded || !diagnostics.empty()) throw Invalid{diagnostics.render()};
  if (notes != nullptr) *notes = diagnostics.render_notes();
  return std::move(*loaded);
}

std::vector<fs::path> data_folders(const RunRequest& request) {
  std::vector<fs::path> folders(request.data_dirs.begin(), request.data_dirs.end());
  if (const char* dir = std::getenv("PSIM_DATA"); dir != nullptr && *dir != '\0') folders.emplace_back(dir);
  return folders;
}

std::optional<Override> override_of(const std::string& set) {
  const std::size_t equals = set.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  return Override{set.substr(0, equals), set.substr(equals + 1)};
}

RunIdentity identity_of(const Scenario& scenario, std::string name, std::string hash) {
  return {.name = std::move(name),
          .title = scenario.title,
          .seed = scenario.seed,
          .scenario_hash = std::move(hash)};
}

RunIdentity identity_of(const LoadedScenario& loaded, std::string name) {
  return identity_of(loaded.scenario, std::move(name), scenario_hash(loaded));
}

unsigned thread_count(unsigned asked) {
  return asked > 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
}

fs::path run_directory(const std::string& name, const std::string& hash) {
  return fs::path("runs") / fmt::format("{}-{}", name, hash.substr(0, 8));
}

std::string command_line(const RunRequest& request, const std::string& program) {
  std::string line = program + " " + file_word(request.scenario);
  if (request.seed) line += fmt::format(" --seed {}", *request.seed);
  for (const std::string& set : request.sets) line += " --set " + shell_word(set);
  for (const std::string& dir : request.data_dirs) line += " --data-dir " + file_word(dir);
  return line;
}

}  // namespace psim
