#include "sim/scenario/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <tuple>
#include <utility>

#include "sim/scenario/axis_text.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/document.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/load_platform.hpp"
#include "sim/scenario/override.hpp"
#include "sim/scenario/presets.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/scenario/reference.hpp"
#include "sim/scenario/toml_text.hpp"

namespace psim {
void merge(const Diagnostics& found, Diagnostics& diagnostics) {
  for (const Diagnostic& one : found.list()) {
    const auto same = [&one](const Diagnostic& other) {
      return one.place.source == other.place.source && one.place.line == other.place.line &&
             one.place.column == other.place.column && one.message == other.message;
    };
    if (std::ranges::none_of(diagnostics.list(), same)) diagnostics.add(one);
  }
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file = std::size_t{4} << 20U;

// The scenario beside `path` whose name is most like it.
std::string similar_file(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = path.parent_path();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  const std::string near = nearest(path.filename().string(), names);
  return near.empty() ? "" : (folder / near).string();
}

// The file's text, or a diagnostic that says why it cannot be read.
std::optional<std::string> read_text(const std::string& path, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string message, std::string help) -> std::optional<std::string> {
    diagnostics.add({.code = "file",
                     .place = {.source = diagnostics.add_source({path, ""})},
                     .message = std::move(message),
                     .label = {},
                     .help = std::move(help)});
    return std::nullopt;
  };
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return refuse("this is a directory, not a scenario file",
                  "name a .toml file; `psim list` shows those that come with psim");
  }
  if (!fs::exists(path, error)) {
    const std::string near = similar_file(path);
    return refuse("there is no such file", near.empty()
                                               ? "`psim list` shows the scenarios that come with psim"
                                               : fmt::format("did you mean `{}`?", near));
  }
  if (!fs::is_regular_file(path, error)) {  // a pipe may never end, or never begin
    return refuse("this is a device or a pipe, not a scenario file",
                  "write the scenario to a file: it is read more than once");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return refuse(fmt::format("cannot be read: {}", std::strerror(errno)), "check the file's permissions");
  std::string text(largest_file + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > largest_file) {
    return refuse(
        "the file is too large for a scenario",
        fmt::format("a scenario has at most {} bytes; data stand in files of their own", largest_file));
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return refuse("the file is UTF-16", "save it as UTF-8");
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // the byte order mark of some editors
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return refuse("the file is empty", "start from a copy of scenarios/quickstart.toml");
  }
  return text;
}

// Reads and parses `path`. What could be parsed is returned, or nothing when that is not worth checking.
std::optional<Document> read_document(const std::string& path, Diagnostics& diagnostics) {
  const std::optional<std::string> text = read_text(path, diagnostics);
  if (!text) return std::nullopt;
  ParsedText parsed = parse_text(*text, diagnostics.add_source({path, *text}));
  Document document{.root = std::move(parsed.root), .complete = parsed.problems.empty()};
  for (Diagnostic& problem : parsed.problems) diagnostics.add(std::move(problem));
  if (!parsed.usable) return std::nullopt;
  return document;
}

std::vector<fs::path> search_path(const LoadRequest& request) {
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

// One row of factors per line, separated by commas or spaces.
void read_trace(std::istream& file, Scenario& scenario, Checker& checker) {
  const std::string& name = scenario.compute.trace;
  const auto workers = static_cast<std::size_t>(scenario.cluster.workers);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    for (char& c : line) c = c == ',' || c == '\t' || c == '\r' ? ' ' : c;
    std::istringstream words(line);
    std::vector<double> row;
    for (std::string word; words >> word;) {
      double factor = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), factor);
      if (error != std::errc{} || end != word.data() + word.size() || !(factor >= 0) || factor > 1e9) {
        return checker.add_data({"compute.trace"},
                                fmt::format("{}:{}: `{}` is not a factor", name, number, word),
                                "in this file", "factors are numbers from 0 to 1e9");
      }
      row.push_back(factor);
    }
    if (row.empty()) continue;
    if (row.size() != 1 && row.size() != workers) {
      return checker.add_data({"compute.trace", "cluster.workers"},
                              fmt::format("{}:{}: {} columns", name, number, row.size()), "in this file",
                              fmt::format("must be one column, or one for each of the {} workers", workers));
    }
    scenario.compute.trace_rows.push_back(std::move(row));
  }
  if (scenario.compute.trace_rows.empty())
    checker.add_data({"compute.trace"}, fmt::format("{} has no factors", name), "an empty file");
}

void load_trace(Scenario& scenario, const LoadRequest& request, Checker& checker) {
  const std::string& name = scenario.compute.trace;
  const std::optional<fs::path> path = find_file(request, name);
  if (!path)
    return checker.add_data({"compute.trace"}, fmt::format("there is no file `{}`", name), "not found",
                            "looked for in --data-dir, PSIM_DATA and the scenario's folder");
  std::ifstream file(*path);
  if (!file)
    return checker.add_data({"compute.trace"}, fmt::format("{} cannot be read", path->string()), "this file",
                            "check its permissions");
  read_trace(file, scenario, checker);
}

// Reads the fields of `document` and reports what is wrong with each by itself, but not what is missing or
// has no meaning: the axes may change that. Of a point of a comparison, only what stands in [compare] is
// reported.
void read_fields(Document& document, bool point, Diagnostics& diagnostics) {
  take_preset(document, diagnostics);
  const bool complete = std::exchange(document.complete, false);
  Diagnostics all, kept;
  Scenario scenario;
  Reader reader(document, all);
  describe(reader, scenario);
  reader.finish({"compare"});
  document.complete = complete;
  for (const Diagnostic& one : all.list()) {
    if (one.code != "no-meaning" && !(point && one.place.line == 0)) kept.add(one);
  }
  merge(kept, diagnostics);
}

// An axis as the file has it.
struct GivenAxis {
  Axis axis;
  Place place;  // of its key
  toml::array* values;
};

// The lists of [compare].
std::vector<GivenAxis> given_axes(toml::table& compare, Diagnostics& diagnostics) {
  std::vector<GivenAxis> axes;
  for (auto&& [key, node] : compare) {
    const std::string name(key.str());
    toml::array* values = node.as_array();
    if (values == nullptr || values->empty()) {
      diagnostics.add({"axis", place_of(node.is_table() ? key.source() : node.source()),
                       fmt::format("axis `{}` is not a list of values", name),
                       values == nullptr ? "expected a list" : "an empty list",
                       node.is_table()
                           ? fmt::format("put the dotted name in quotes: \"{}.field\" = [...]", name)
                           : "write a list, even of one value"});
      continue;
    }
    axes.push_back({.axis = {.key = name == "seeds" ? "seed" : name, .fields = {}, .values = {}},
                    .place = place_of(key.source()),
                    .values = values});
  }
  // File order, seeds last.
  std::ranges::stable_sort(axes, {}, [](const GivenAxis& one) {
    return std::tuple(one.axis.key == "seed", one.place.source, one.place.line, one.place.column);
  });
  return axes;
}

// Whether the axes make a comparison that can be run.
bool check_together(const std::vector<GivenAxis>& axes, Diagnostics& diagnostics) {
  constexpr double most_runs = 10000;
  double runs = 1;
  for (const GivenAxis& one : axes) {
    runs *= static_cast<double>(one.values->size());
    for (const GivenAxis& other : axes) {
      if (&one == &other || !(one.axis.key + ".").starts_with(other.axis.key + ".") ||
          (one.axis.key == other.axis.key && &one < &other))
        continue;
      diagnostics.add({"axis", one.place,
                       fmt::format("axes `{}` and `{}` set the same", one.axis.key, other.axis.key),
                       fmt::format("also set by `{}`", other.axis.key),
                       "put this field into the tables of the other axis"});
    }
  }
  if (runs <= most_runs) return true;
  diagnostics.add({"axis", axes.front().place, fmt::format("the axes make {} runs", runs),
                   fmt::format("at most {} can be compared", most_runs), "shorten the lists"});
  return false;
}

// The dotted names of what `value`, of field `key`, sets.
void add_fields(const std::string& key, const toml::node& value, std::set<std::string>& fields) {
  if (!value.is_table()) {
    fields.insert(key);
    return;
  }
  for (auto&& [name, inner] : *value.as_table())
    add_fields(fmt::format("{}.{}", key, name.str()), inner, fields);
}

// The axes of [compare], whose values are taken out of `document`.
std::vector<Axis> read_axes(Document& document, Diagnostics& diagnostics) {
  toml::node* compare = document.root.get("compare");
  if (compare == nullptr) return {};
  if (!compare->is_table()) {
    diagnostics.add({"axis", place_of(compare->source()), "`compare` has the wrong type", "expected a table",
                     "write [compare] and the axes below"});
    return {};
  }
  std::vector<GivenAxis> given = given_axes(*compare->as_table(), diagnostics);
  if (!check_together(given, diagnostics)) return {};
  toml::table base = document.root;  // a copy, which knows no places
  base.erase("compare");
  std::vector<Axis> axes;
  for (GivenAxis& one : given) {
    for (toml::node& value : *one.values) {
      one.axis.values.push_back({label_of(value), toml_of(value)});
      add_fields(one.axis.key, value, one.axis.fields);
      Document point{.root = base};
      Diagnostics failures;
      put(point, one.axis.key, one.place, value, "axis", failures);
      merge(failures, diagnostics);
      read_fields(point, true, diagnostics);
    }
    axes.push_back(std::move(one.axis));
  }
  return axes;
}

}  // namespace

std::optional<Document> read_request(const LoadRequest& request, Diagnostics& diagnostics) {
  std::optional<Document> document = read_document(request.path, diagnostics);
  if (!document) return std::nullopt;
  for (const Override& change : request.overrides) apply_override(*document, change, diagnostics);
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
                                              const Reading& reading, Checker& checker) {
  if (!checker.can_load()) return nullptr;
  const std::optional<DataShape> known = known_shape(scenario.data);
  const auto look = [&](const DataShape& shape) {
    adapt_to(shape, scenario.model);
    checker.check_data(shape);
  };
  // What is wrong is said before anything is generated.
  if (known) look(*known);
  if (known && (request.without_data || !checker.content())) return nullptr;
  try {
    std::shared_ptr<const DataSplit> data = find_data(scenario, request);
    if (!known) look(shape_of(data->train));
    return data;
  } catch (const DataError& error) {
    const std::string field = reading.given("data.path")     ? "data.path"
                              : reading.given("data.inputs") ? "data.inputs"
                                                             : "data.source";
    checker.add_data({field}, error.what(), "", error.help);
    return nullptr;
  }
}

std::optional<LoadedScenario> load_scenario(const LoadRequest& request, Diagnostics& diagnostics) {
  const Diagnostics sources = diagnostics;
  std::optional<Document> document = read_request(request, diagnostics);
  if (!document) return std::nullopt;
  add_group_sources(*document, diagnostics);
  take_preset(*document, diagnostics);
  LoadedScenario loaded;
  Scenario& scenario = loaded.scenario;
  Reader reader(*document, diagnostics);
  describe(reader, scenario);
  reader.finish({"compare"});
  scenario.cluster.storage = scenario.snapshot.every.has_value();
  if (!scenario.architecture.has_servers()) {
    scenario.cluster.servers = 0;
    scenario.cluster.inference.given = false;
  }

  Checker checker(scenario, reader.reading(), diagnostics);
  // Speeds may come from the platform file, so it is first.
  if (checker.can_load_platform()) load_platform(scenario, request, checker);
  share_workers(scenario);
  if (scenario.groups.empty()) checker.check_fields();
  else checker.check_machines();
  if (!scenario.compute.trace.empty()) load_trace(scenario, request, checker);
  if (scenario.groups.empty()) {
    loaded.data = load_data_of(scenario, request, reader.reading(), checker);
  } else if (checker.can_load_jobs()) {
    loaded.jobs = load_jobs(scenario, request, sources, diagnostics);
    loaded.data = loaded.jobs.front().data;
  }
  // Overrides may take away what the axes are about.
  if (request.overrides.empty()) read_axes(*document, diagnostics);
  if (!diagnostics.empty()) return std::nullopt;
  return loaded;
}

std::optional<std::vector<Axis>> load_axes(const LoadRequest& request, Diagnostics& diagnostics) {
  std::optional<Document> document = read_request(request, diagnostics);
  if (!document) return std::nullopt;
  read_fields(*document, false, diagnostics);
  std::vector<Axis> axes = read_axes(*document, diagnostics);
  if (!diagnostics.empty()) return std::nullopt;
  return axes;
}

}  // namespace psim
