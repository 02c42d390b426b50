#include "psim/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/library/load.hpp"
#include "sim/runs/files.hpp"
#include "sim/scenario/additions.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::api {

Scenario Scenario::from_file(std::filesystem::path path) {
  return Scenario({.name = path.string(), .text = {}, .sets = {}, .data_folders = {}});
}

Scenario Scenario::from_text(std::string toml, std::string name) {
  return Scenario({.name = std::move(name), .text = std::move(toml), .sets = {}, .data_folders = {}});
}

Scenario& Scenario::set(std::string key, std::string value) {
  parts_.sets.emplace_back(std::move(key), std::move(value));
  return *this;
}

Scenario& Scenario::seed(std::int64_t seed) { return set("seed", fmt::to_string(seed)); }

Scenario& Scenario::data_folder(std::filesystem::path folder) {
  parts_.data_folders.push_back(folder.string());
  return *this;
}

RunRequest request_of(const Scenario& scenario) {
  const Scenario::Parts& parts = scenario.parts();
  RunRequest request{.scenario = parts.name, .text = parts.text, .data_dirs = parts.data_folders};
  for (const auto& [key, value] : parts.sets) request.sets.push_back(key + "=" + value);
  return request;
}

namespace {

// All mistakes: as a list, and as text for people.
struct Loaded {
  std::optional<LoadedScenario> scenario = {};
  std::vector<Problem> problems = {};
  std::string text = {};
};

Loaded loaded(const Scenario& scenario) {
  check_additions();
  Diagnostics diagnostics;
  Loaded result;
  result.scenario = load_scenario(load_request(request_of(scenario), diagnostics), diagnostics);
  if (diagnostics.empty()) return result;
  for (const Diagnostic& one : diagnostics.list()) {
    const Source& source = diagnostics.sources()[one.place.source];
    const std::uint32_t line = one.place.line == 0 ? 0 : one.place.line + source.first_line - 1;
    result.problems.push_back({one.code, source.name, line, one.place.column, one.message, one.help});
  }
  std::ranges::stable_sort(result.problems, {}, &Problem::line);
  result.text = diagnostics.render();
  return result;
}

}  // namespace

LoadedScenario load(const Scenario& scenario) {
  Loaded found = loaded(scenario);
  if (!found.problems.empty()) throw BadScenario(found.text, std::move(found.problems));
  return std::move(*found.scenario);
}

std::vector<Problem> Scenario::problems() const { return loaded(*this).problems; }

std::string Scenario::resolved() const { return resolved_toml(load(*this).scenario); }

}  // namespace psim::api
