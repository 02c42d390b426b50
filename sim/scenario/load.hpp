// Loads a scenario and its data from a file and overrides, or reports diagnostics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

struct DataSplit;

// Loaded data sets, by their sources. They save time when many scenarios are loaded.
using DataCache = std::map<std::string, std::shared_ptr<const DataSplit>>;

// `key` is a dotted path such as "cluster.workers" or "straggler.0.slowdown"; `value` is TOML, or a bare
// word, which means a string. A table as value is merged into the existing table.
struct Override {
  std::string key;
  std::string value;
  // The option that gives it, or its file and line.
  std::string source = "--set";
  std::optional<std::uint32_t> line = {};
};

// A value of an axis of [compare]: its index in the list.
struct AxisChoice {
  std::string key;
  std::size_t index = 0;
};

struct LoadRequest {
  std::string path;
  std::optional<std::string> text = {};  // of the scenario; none: `path` is read
  std::vector<Override> overrides;
  std::vector<std::filesystem::path> data_dirs;  // searched before the scenario's own folder
  DataCache* cache = nullptr;
  bool without_data = false;           // psim generates no data; for checks only
  bool without_files = false;          // psim opens no file that the scenario names; for untrusted scenarios
  std::vector<Override> axes = {};     // additional axes for [compare], or replacements of its axes
  std::vector<AxisChoice> point = {};  // the wanted run of the comparison; empty: the unchanged file
  std::vector<Override> last = {};     // overrides everything else
};

// A point of a comparison: its changes, and its name in tables.
struct AxisValue {
  std::string label;
  std::vector<std::string> sets;  // KEY=VALUE, as in --set
};
struct Axis {
  std::string key;               // a field or a table; "arm": each value sets its own fields
  std::set<std::string> fields;  // the fields that any value sets, dotted
  std::vector<AxisValue> values;
  Place place = {};     // of the list
  bool in_file = true;  // false: the command line gives it
};
// The largest number of points of a comparison.
inline constexpr double most_runs = 10'000;

// One of several namespaces: its scenario, as if its workers were alone on the cluster.
struct LoadedJob {
  Scenario scenario;
  std::shared_ptr<const DataSplit> data = {};  // empty for a phantom model
  std::uint32_t first_worker = 0;              // of the cluster's
  std::vector<std::size_t> groups = {};        // of the cluster's scenario; the first has the namespace
  // By worker, if groups of a namespace differ; the scenario has the mean.
  std::vector<std::int64_t> batch_sizes = {};
};

struct LoadedScenario {
  Scenario scenario;
  std::shared_ptr<const DataSplit> data = {};  // empty for a phantom model; with groups, the first job's
  std::vector<LoadedJob> jobs = {};            // empty without groups
  bool has_axes = false, has_tune = false;     // there is a [compare], a [tune]
};

// Checks everything and loads the data. Returns nothing, and at least one diagnostic, if there is an error.
std::optional<LoadedScenario> load_scenario(const LoadRequest& request, Diagnostics& diagnostics);

// Finds a file that the scenario names, in the data folders or in the scenario's folder.
std::optional<std::filesystem::path> find_file(const LoadRequest& request, const std::string& name);

// The axes of [compare]; `seeds` is the last one, {"seed", ...}. Nothing, and diagnostics, if a field of the
// file or a value of an axis has an error itself. Loading a point finds contradictions.
std::optional<std::vector<Axis>> load_axes(const LoadRequest& request, Diagnostics& diagnostics);

// The file with its overrides and these axes, in this order, as TOML. Only for a file that loads without a
// diagnostic.
std::string study_text(const LoadRequest& request, const std::vector<std::string>& axes);

}  // namespace psim
