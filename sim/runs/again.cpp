#include "sim/runs/again.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "sim/runs/answer.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/spec/nodes.hpp"
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

namespace {

// The name of a value as users write it: "workers.0.time.total_s" for "/workers/0/time/total_s".
std::string dotted(std::string pointer) {
  std::ranges::replace(pointer, '/', '.');
  return pointer.substr(pointer.empty() ? 0 : 1);
}

// Properties of the program, not of the run. A difference here causes only a note.
constexpr std::array<const char*, 5> of_the_program{"psim", "cpu_family", "libraries", "build",
                                                    "scenario_hash"};

}  // namespace

std::string first_difference(const Json& recorded, const Json& now) {
  const Json changes = Json::diff(recorded, now);
  if (changes.empty()) return {};
  const std::string place = changes[0]["path"];
  const auto value_in = [&place](const Json& document) {
    const Json::json_pointer pointer(place);
    return document.contains(pointer) ? document.at(pointer).dump() : std::string("nothing");
  };
  return fmt::format("first value of summary.json that differs: {}\n  now:      {}\n  recorded: {}\n",
                     dotted(place), value_in(now), value_in(recorded));
}

std::string notes_on_program(const Json& recorded, const Json& now) {
  std::string notes;
  for (const char* key : of_the_program) {
    const std::string then = recorded.contains(key) ? recorded[key].dump() : "nothing";
    if (then != now[key].dump())
      notes += fmt::format("note: recorded with {} {}, this is {}\n", key, then, now[key].dump());
  }
  return notes;
}

Json without_program(Json summary) {
  for (const char* key : of_the_program) summary.erase(key);
  return summary;
}

namespace {

bool always(const LoadedScenario&) { return true; }

// Under nic psim computes all dates itself; under fluid SimGrid computes those of messages, and its releases
// round them differently. A pipeline over the devices of one machine has its bus as its network, and a bus is
// always fluid.
bool is_fluid(const LoadedScenario& loaded) {
  return on_its_bus(loaded.scenario).cluster.network.model == NetworkModel::fluid;
}

bool uses_snappy(const LoadedScenario& loaded) {
  const auto has_snappy = [](const Scenario& scenario) {
    return std::ranges::any_of(scenario.filters,
                               [](const FilterSpec& filter) { return filter.kind->name == "snappy"; });
  };
  return has_snappy(loaded.scenario) ||
         std::ranges::any_of(loaded.jobs, [&](const LoadedJob& job) { return has_snappy(job.scenario); });
}

// A property of the program that decides digests of some scenarios.
struct Property {
  const char* path;  // in a summary
  const char* name;  // for people
  bool (*decides)(const LoadedScenario&);
  bool only_fluid = false;
};
constexpr Property properties[] = {
    {"/psim", "psim", always},
    {"/libraries/snappy", "Snappy", uses_snappy},
    {"/libraries/simgrid", "SimGrid", is_fluid, true},
    {"/cpu_family", "the processor", is_fluid, true},
};

std::string value_in(const Json& summary, const char* path) {
  const Json::json_pointer pointer(path);
  if (!summary.contains(pointer)) return "unknown";
  const Json& value = summary.at(pointer);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

constexpr const char* nic_rule =
    "promise under nic: the same digest on every processor and with every release of SimGrid";
constexpr const char* fluid_rule =
    "promise under fluid: the same digest on every x86-64 processor with the same release of SimGrid";
constexpr const char* fluid_elsewhere_rule =
    "promise under fluid for another release of SimGrid, or for a processor other than x86-64: under bsp the "
    "same weights bit for bit, and dates to 1e-9";

}  // namespace

std::string DigestPromise::verdict() const {
  if (exceptions.empty()) return "no difference was to be expected";
  return fmt::format("a difference was to be expected: {}", exceptions);
}

DigestPromise promise_on_digest(const LoadedScenario& loaded, const Json& recorded, const Json& here) {
  std::string exceptions;
  const bool fluid = is_fluid(loaded);
  bool is_elsewhere = fluid && value_in(here, "/cpu_family") != "x86-64";
  for (const Property& property : properties) {
    const std::string then = value_in(recorded, property.path), now = value_in(here, property.path);
    if (then == now || !property.decides(loaded)) continue;
    exceptions +=
        fmt::format("{}{} was {} and is {}", exceptions.empty() ? "" : ", ", property.name, then, now);
    is_elsewhere = is_elsewhere || property.only_fluid;
  }
  if (is_elsewhere && exceptions.empty())
    exceptions = "under fluid psim promises no digest on this processor";
  const char* rule = !fluid ? nic_rule : is_elsewhere ? fluid_elsewhere_rule : fluid_rule;
  return {.rule = rule, .exceptions = std::move(exceptions)};
}

}  // namespace psim
