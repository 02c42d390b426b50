#include "sim/scenario/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/base/input.hpp"
#include "model/base/random.hpp"
#include "model/data/text.hpp"
#include "model/dataset.hpp"
#include "model/numerics/functions.hpp"
#include "sim/scenario/assignment.hpp"
#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/reading/reader.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/presets.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {
void merge(const Diagnostics& found, Diagnostics& diagnostics) {
  for (Diagnostic one : found.list()) {
    if (one.place.source < found.sources().size()) {  // a data file may be a source of one of them only
      const Source& source = found.sources()[one.place.source];
      const std::vector<Source>& known = diagnostics.sources();
      if (one.place.source >= known.size() || !(known[one.place.source] == source)) {
        const auto its = std::ranges::find(known, source);
        one.place.source = its == known.end() ? diagnostics.add_source(source)
                                              : static_cast<std::size_t>(its - known.begin());
      }
    }
    const auto same = [&one](const Diagnostic& other) {
      return one.place.source == other.place.source && one.place.line == other.place.line &&
             one.place.column == other.place.column && one.message == other.message;
    };
    if (std::ranges::none_of(diagnostics.list(), same)) diagnostics.add(one);
  }
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_scenario = std::size_t{4} << 20U;

// The scenario in the folder of `path` with the most similar name.
std::string similar_file(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = path.parent_path();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  const std::string near = nearest(path.stem().string() + ".toml", names);
  return near.empty() ? near : (folder / near).string();
}

// Adds a diagnostic about the file as a whole.
std::nullopt_t refuse_file(const std::string& path, std::string message, std::string help,
                           Diagnostics& diagnostics) {
  diagnostics.add({.code = "file",
                   .place = {.source = diagnostics.add_source({path, ""})},
                   .message = std::move(message),
                   .label = {},
                   .help = std::move(help)});
  return std::nullopt;
}

// The text of the scenario `path`; nothing, and a diagnostic, if the file cannot be a scenario.
std::optional<std::string> checked_text(const std::string& path, std::string text, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string message, std::string help) {
    return refuse_file(path, std::move(message), std::move(help), diagnostics);
  };
  if (text.size() > largest_scenario) {
    return refuse(
        "the file is too large for a scenario",
        fmt::format("a scenario has at most {} bytes; data belong in separate files", largest_scenario));
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return refuse("the file is UTF-16", "save it as UTF-8");
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // the byte order mark of some editors
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return refuse("the file is empty", "start from a copy of scenarios/quickstart.toml");
  }
  return text;
}

}  // namespace

std::optional<std::string> read_text(const std::string& path, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string message, std::string help) {
    return refuse_file(path, std::move(message), std::move(help), diagnostics);
  };
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return refuse("this is a directory, not a scenario file",
                  "name a .toml file; `psim list` shows the scenarios of psim");
  }
  if (!fs::exists(path, error)) {
    const std::string near = similar_file(path);
    return refuse("there is no such file", near.empty() ? "`psim list` shows the scenarios of psim"
                                                        : fmt::format("did you mean `{}`?", near));
  }
  if (!fs::is_regular_file(path, error)) {  // a pipe may never end, or never begin
    return refuse("this is a device or a pipe, not a scenario file",
                  "write the scenario to a file, because psim reads it more than once");
  }
  try {
    return checked_text(path, beginning_of(path, largest_scenario + 1), diagnostics);
  } catch (const InputError& unread) {
    return refuse(unread.why, unread.help);
  }
}

namespace {

// Reads and parses the scenario. Returns the valid part, or nothing if the text is not worth checking.
std::optional<Document> read_document(const LoadRequest& request, Diagnostics& diagnostics) {
  const std::string& path = request.path;
  const std::optional<std::string> text =
      request.text ? checked_text(path, *request.text, diagnostics) : read_text(path, diagnostics);
  if (!text) return std::nullopt;
  const std::size_t source = diagnostics.add_source({path, *text});
  ParsedText parsed = parse_text(*text, source);
  if (parsed.problem) {
    diagnostics.add(std::move(*parsed.problem));
    return std::nullopt;
  }
  Document document{.root = std::move(parsed.root), .source = source};
  expand_consistency(document.root);
  return document;
}

std::vector<fs::path> search_path(const LoadRequest& request) {
  if (request.without_files) return {};
  std::vector<fs::path> dirs = request.data_dirs;
  const fs::path folder = fs::path(request.path).parent_path();
  dirs.push_back(folder.empty() ? fs::path(".") : folder);
  return dirs;
}

std::shared_ptr<const DataSplit> find_data(const Scenario& scenario, const LoadRequest& request) {
  const auto load = [&] {
    return std::make_shared<const DataSplit>(
        load_data(scenario.data, static_cast<std::uint64_t>(scenario.seed), search_path(request)));
  };
  if (request.cache == nullptr) return load();
  Scenario only_data;
  only_data.data = scenario.data;
  only_data.seed = scenario.seed;
  std::shared_ptr<const DataSplit>& cached = (*request.cache)[resolved_toml(only_data)];
  if (!cached) cached = load();
  return cached;
}

}  // namespace

std::optional<Document> read_request(const LoadRequest& request, Diagnostics& diagnostics) {
  std::optional<Document> document = read_document(request, diagnostics);
  if (!document) return std::nullopt;
  for (const Override& change : request.overrides) apply_override(*document, change, diagnostics);
  if (toml::table* compare = document->root.get_as<toml::table>("compare"))
    document->axes = varied_fields(*compare);
  for (const Override& axis : request.axes) document->axes.push_back(axis.key);
  take_point(*document, request, diagnostics);
  for (const Override& change : request.last) apply_override(*document, change, diagnostics);
  return document;
}

std::optional<fs::path> find_file(const LoadRequest& request, const std::string& name) {
  std::error_code error;
  for (const fs::path& dir : search_path(request)) {
    if (fs::is_regular_file(dir / name, error)) return dir / name;
  }
  return std::nullopt;
}

std::shared_ptr<const DataSplit> load_data_of(Scenario& scenario, const LoadRequest& request,
                                              const Reading& reading, const Check& check) {
  if (!can_load(check)) return nullptr;
  if (request.without_files && scenario.data.source->reads_files) {
    check.add_data({"data.source"}, "this source reads files, but --no-files forbids them", "this source",
                   "digits is built in, and psim generates blobs, spirals, teacher and clicks");
    return nullptr;
  }
  const std::optional<DataShape> known = known_shape(scenario.data);
  const auto look = [&](const DataShape& shape) {
    adapt_to(shape, scenario.model);
    check_data(check, shape);
  };
  // Reports errors before it generates data.
  if (known) look(*known);
  if (known && (request.without_data || !check.diagnostics.empty())) return nullptr;
  try {
    std::shared_ptr<const DataSplit> data = find_data(scenario, request);
    if (!known) look(shape_of(data->train));
    for (const DataNote& note : data->train.notes) check.note_data("data.path", note.message, note.help);
    return data;
  } catch (const DataError& error) {
    for (const DataProblem& one : error.problems) {
      const std::size_t source =
          check.diagnostics.add_source({error.file, one.text, static_cast<std::uint32_t>(one.line)});
      check.diagnostics.add({.code = "data",
                             .place = place_in(one.text, one.begin, one.end, source),
                             .message = one.message,
                             .label = one.label,
                             .help = one.help});
    }
    if (!error.problems.empty()) return nullptr;
    const std::string field = !error.field.empty()           ? "data." + error.field
                              : reading.given("data.path")   ? "data.path"
                              : reading.given("data.inputs") ? "data.inputs"
                                                             : "data.source";
    check.add_data({field}, error.what(), "", error.help);
    return nullptr;
  }
}

namespace {

// The log of a cluster tells its bandwidth with an error, and each seed draws another value.
void draw_bandwidth(Scenario& scenario) {
  NetworkSpec& network = scenario.cluster.network;
  if (network.bandwidth_sd == 0) return;
  Stream stream(static_cast<std::uint64_t>(scenario.seed), "bandwidth");
  network.drawn_bandwidth = numerics::exp(network.bandwidth_sd * stream.normal());
}

}  // namespace

void load_data_again(LoadedScenario& loaded, const LoadRequest& request) {
  if (loaded.scenario.model.kind->has_numbers) loaded.data = find_data(loaded.scenario, request);
}

std::optional<LoadedScenario> load_scenario(const LoadRequest& request, Diagnostics& diagnostics) {
  const Diagnostics sources = diagnostics;
  std::optional<Document> document = read_request(request, diagnostics);
  if (!document) return std::nullopt;
  take_preset(*document, diagnostics);
  LoadedScenario loaded{.scenario = {},
                        .has_axes = document->root.contains("compare"),
                        .has_tune = document->root.contains("tune")};
  Scenario& scenario = loaded.scenario;
  Reader reader(*document, diagnostics);
  describe(reader, scenario);
  reader.finish({"compare", "tune"});
  scenario.cluster.storage = scenario.snapshot.every.has_value();
  scenario.cluster.database = scenario.moves_data();
  if (!scenario.architecture.has_servers()) {
    scenario.cluster.servers = 0;
    scenario.cluster.inference.given = false;
  }
  // Servers tell the scheduler about a push when they have it.
  if (scenario.consistency.model->has_tasks()) scenario.messages.acknowledge = true;
  // No other worker holds the weights of a stage.
  const bool is_pipeline = scenario.architecture.kind == Architecture::model_parallel;
  if (is_pipeline && !reader.reading().given("recovery.workers"))
    scenario.recovery.workers = LostWorkers::wait;

  settle_loops(scenario);
  settle_warmup(scenario, reader.reading());
  settle_split(scenario, *document);
  Reading reading = reader.reading();
  load_profiles(scenario, request, reading, diagnostics);
  const Check check{.s = scenario, .reading = reading, .diagnostics = diagnostics};
  settle_devices(scenario, check);
  // The platform file comes first, because it may give the speeds.
  if (can_load_platform(check)) load_platform(scenario, request, check);
  share_workers(scenario);
  draw_bandwidth(scenario);
  load_traces(scenario, request, check);
  check_scenario(check);
  if (scenario.groups.empty()) {
    loaded.data = load_data_of(scenario, request, reading, check);
  } else if (can_load_jobs(check)) {
    loaded.jobs = load_jobs(scenario, request, sources, diagnostics);
    loaded.data = loaded.jobs.front().data;
    std::vector<const Scenario*> jobs;
    for (const LoadedJob& job : loaded.jobs) jobs.push_back(&job.scenario);
    if (diagnostics.empty()) check_servers_of(check, jobs);
  }
  // Overrides may remove a field of the axes.
  if (request.overrides.empty() && request.point.empty()) read_axes(*document, diagnostics);
  if (!diagnostics.empty()) return std::nullopt;
  if (scenario.architecture.kind == Architecture::all_reduce) give_ranks(scenario);
  return loaded;
}

}  // namespace psim
