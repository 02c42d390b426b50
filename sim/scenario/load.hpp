// From a file (and overrides) to a scenario with its data, or to diagnostics.
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

// Data sets that were loaded already, by what they were loaded from; for loading many scenarios in a row.
using DataCache = std::map<std::string, std::shared_ptr<const DataSplit>>;

// `key` is a dotted path such as "cluster.workers" or "straggler.0.slowdown"; `value` is TOML, or a bare
// word that stands for a string. A table as value is merged into the table that is there.
struct Override {
  std::string key;
  std::string value;
  // The option that gives it, or the file and the line in which it stands.
  std::string source = "--set";
  std::optional<std::uint32_t> line = {};
};

// A value of an axis of [compare]: which one of the list.
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
  bool without_data = false;           // data that can be generated are not: for those who only check
  bool without_files = false;          // finds no file that the scenario names: for those of strangers
  std::vector<Override> axes = {};     // more axes for [compare], or others for those that it has
  std::vector<AxisChoice> point = {};  // the run of the comparison that is wanted; none: the file as it is
  std::vector<Override> last = {};     // what goes before everything else
};

// A point of a comparison: what it changes, and how a table names it.
struct AxisValue {
  std::string label;
  std::vector<std::string> sets;  // KEY=VALUE, as in --set
};
struct Axis {
  std::string key;               // a field or a table; "arm": each value sets fields of its own
  std::set<std::string> fields;  // that some value sets, dotted
  std::vector<AxisValue> values;
  Place place = {};     // of the list
  bool in_file = true;  // false: the command line gives it
};

// One namespace of several: its scenario, as if its workers were alone on the cluster.
struct LoadedJob {
  Scenario scenario;
  std::shared_ptr<const DataSplit> data = {};  // empty for a phantom model
  std::uint32_t first_worker = 0;              // of the cluster's
  std::vector<std::size_t> groups = {};        // of the cluster's scenario; the first has the namespace
  // By worker, where groups of a namespace differ; the scenario has their mean.
  std::vector<std::int64_t> batch_sizes = {};
};

struct LoadedScenario {
  Scenario scenario;
  std::shared_ptr<const DataSplit> data = {};  // empty for a phantom model; with groups, the first job's
  std::vector<LoadedJob> jobs = {};            // empty without groups
  bool has_axes = false;                       // there is a [compare]
};

// Everything checked, data loaded. Nothing, and at least one diagnostic, when anything is wrong.
std::optional<LoadedScenario> load_scenario(const LoadRequest& request, Diagnostics& diagnostics);

// A file that the scenario names: found in the data folders, or else in the scenario's own.
std::optional<std::filesystem::path> find_file(const LoadRequest& request, const std::string& name);

// The axes of [compare]; `seeds` is the last one, {"seed", ...}. Nothing, and diagnostics, when a field of
// the file or a value of an axis is wrong by itself; what does not go together shows when a point is loaded.
std::optional<std::vector<Axis>> load_axes(const LoadRequest& request, Diagnostics& diagnostics);

// The file with its overrides put in and these axes, in this order, as TOML. For what loads without a
// diagnostic.
std::string study_text(const LoadRequest& request, const std::vector<std::string>& axes);

}  // namespace psim
