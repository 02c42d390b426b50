#include "sim/scenario/load.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

#include "sim/scenario/check.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/scenario/reference.hpp"

namespace psim {
namespace {

std::vector<std::filesystem::path> search_path(const LoadRequest& request) {
  std::vector<std::filesystem::path> dirs = request.data_dirs;
  const std::filesystem::path folder = std::filesystem::path(request.path).parent_path();
  dirs.push_back(folder.empty() ? std::filesystem::path(".") : folder);
  return dirs;
}

std::shared_ptr<const DataSplit> find_data(const Scenario& scenario, const LoadRequest& request) {
  const auto load = [&] {
    return std::make_shared<const DataSplit>(load_data(scenario.data, static_cast<std::uint64_t>(scenario.seed), search_path(request)));
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
void load_trace(Scenario& scenario, const LoadRequest& request, Checker& checker) {
  const std::string& name = scenario.compute.trace;
  for (const std::filesystem::path& dir : search_path(request)) {
    std::ifstream file(dir / name);
    if (!file) continue;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      for (char& c : line) c = c == ',' || c == '\t' || c == '\r' ? ' ' : c;
      std::istringstream words(line);
      std::vector<double> row;
      for (std::string word; words >> word;) {
        double factor = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), factor);
        if (error != std::errc{} || end != word.data() + word.size() || !(factor >= 0) || factor > 1e9) {
          return checker.add("compute.trace", fmt::format("{}:{}: `{}` is not a factor", name, number, word), "in this file", "factors are numbers from 0");
        }
        row.push_back(factor);
      }
      if (row.empty()) continue;
      const auto workers = static_cast<std::size_t>(scenario.cluster.workers);
      if (row.size() != 1 && row.size() != workers) {
        return checker.add("compute.trace", fmt::format("{}:{}: {} columns", name, number, row.size()), "in this file",
                           fmt::format("must be one column, or one for each of the {} workers", workers));
      }
      scenario.compute.trace_rows.push_back(std::move(row));
    }
    if (scenario.compute.trace_rows.empty()) checker.add("compute.trace", fmt::format("{} has no factors", name), "an empty file");
    return;
  }
  checker.add("compute.trace", fmt::format("there is no file `{}`", name), "looked for in --data-dir, PSIM_DATA and the scenario's folder");
}

// What an axis' value is called in a table: a word as it is, a table as its values.
std::string label_of(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  std::ostringstream out;
  if (const toml::table* table = node.as_table()) {
    std::string label;
    if (const toml::node* model = table->get("model")) label = label_of(*model);
    for (auto&& [key, value] : *table) {
      if (key.str() == "model") continue;
      const bool obvious = table->contains("model") && value.is_integer();
      label += fmt::format("{}{}{}", label.empty() ? "" : " ", obvious ? "" : std::string(key.str()) + "=", label_of(value));
    }
    return label;
  }
  node.visit([&](const auto& concrete) { out << concrete; });
  return out.str();
}

std::string toml_of(const toml::node& node) {
  std::ostringstream out;
  if (const toml::table* table = node.as_table()) {  // inline, on one line
    out << "{";
    bool first = true;
    for (auto&& [key, value] : *table) out << (std::exchange(first, false) ? " " : ", ") << '"' << key.str() << "\" = " << toml_of(value);
    out << " }";
  } else if (const toml::array* array = node.as_array()) {
    out << "[";
    bool first = true;
    for (const toml::node& value : *array) out << (std::exchange(first, false) ? "" : ", ") << toml_of(value);
    out << "]";
  } else {
    node.visit([&](const auto& concrete) { out << concrete; });
  }
  return out.str();
}

}  // namespace

std::optional<LoadedScenario> load_scenario(const LoadRequest& request, Diagnostics& diagnostics) {
  const ParsedDocument parsed = read_document(request.path, request.overrides, diagnostics);
  if (!parsed.usable) return std::nullopt;
  LoadedScenario loaded;
  Scenario& scenario = loaded.scenario;
  Reader reader(parsed.document, diagnostics);
  describe(reader, scenario);
  reader.finish({"compare"});
  const std::size_t wrong_fields = diagnostics.count();

  Checker checker(scenario, reader.places(), diagnostics);
  checker.check_fields();
  if (!scenario.compute.trace.empty()) load_trace(scenario, request, checker);
  if (scenario.model.kind == ModelKind::mlp && wrong_fields == 0) {
    try {
      loaded.data = find_data(scenario, request);
      if (scenario.model.mlp.layers.size() >= 2) checker.check_data(*loaded.data);
    } catch (const DataError& error) {
      checker.add(checker.given("data.path") ? "data.path" : "data.source", error.what(), "", error.help);
    }
  }
  if (!diagnostics.empty()) return std::nullopt;
  return loaded;
}

std::optional<std::vector<Axis>> load_axes(const LoadRequest& request, Diagnostics& diagnostics) {
  const ParsedDocument parsed = read_document(request.path, request.overrides, diagnostics);
  if (!parsed.usable || !diagnostics.empty()) return std::nullopt;
  std::vector<Axis> axes;
  const toml::node* compare = parsed.document.root.get("compare");
  if (compare == nullptr) return axes;
  const auto refuse = [&](const toml::source_region& where, std::string message, std::string label, std::string help) {
    diagnostics.add({"axis", parsed.document.place(where), std::move(message), std::move(label), std::move(help)});
  };
  if (!compare->is_table()) {
    refuse(compare->source(), "`compare` has the wrong type", "expected a table", "write [compare] and the axes below");
    return std::nullopt;
  }
  std::vector<std::pair<toml::source_position, Axis>> found;
  for (auto&& [key, node] : *compare->as_table()) {
    const std::string name(key.str());
    const toml::array* values = node.as_array();
    if (values == nullptr || values->empty()) {
      const std::string help = node.is_table() ? fmt::format("put the dotted name in quotes: \"{}.field\" = [...]", name) : "write a list, even of one value";
      refuse(node.is_table() ? key.source() : node.source(), fmt::format("axis `{}` is not a list of values", name), "expected a list", help);
      continue;
    }
    Axis axis{.key = name == "seeds" ? "seed" : name, .values = {}};
    for (const toml::node& value : *values) {
      if (name == "seeds" && !value.is_integer()) refuse(value.source(), "a seed is an integer", "expected an integer", "");
      axis.values.push_back({label_of(value), toml_of(value)});
    }
    found.emplace_back(key.source().begin, std::move(axis));
  }
  if (!diagnostics.empty()) return std::nullopt;
  // File order, seeds last.
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) {
    const bool a_seeds = a.second.key == "seed", b_seeds = b.second.key == "seed";
    return a_seeds != b_seeds ? b_seeds : std::pair(a.first.line, a.first.column) < std::pair(b.first.line, b.first.column);
  });
  for (auto& [position, axis] : found) axes.push_back(std::move(axis));
  return axes;
}

}  // namespace psim
