#include "tests/support/scenario.hpp"

#include <sys/resource.h>
#include <toml++/toml.h>

#include <ctime>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "sim/runs/answer.hpp"
#include "tests/support/catch.hpp"

namespace psim::test {
namespace fs = std::filesystem;

struct ScenarioBuilder::Tree {
  toml::table root = {};
  std::vector<fs::path> data_folders = {};
};

namespace {

void put(toml::table& table, std::string_view key, const toml::node& value) {
  value.visit([&](const auto& of_its_type) { table.insert_or_assign(key, of_its_type); });
}

bool is_list_of_tables(const toml::node& node) {
  return node.is_array() && node.as_array()->is_homogeneous<toml::table>();
}

void merge(toml::table& into, const toml::table& from) {
  for (const auto& [key, node] : from) {
    toml::node* there = into.get(key.str());
    if (there != nullptr && there->is_table() && node.is_table()) {
      merge(*there->as_table(), *node.as_table());
    } else if (there != nullptr && is_list_of_tables(*there) && is_list_of_tables(node)) {
      for (const toml::node& one : *node.as_array()) there->as_array()->push_back(*one.as_table());
    } else {
      put(into, key.str(), node);
    }
  }
}

toml::table parsed(const std::string& text) {
  INFO(text);
  return toml::parse(text);
}

// The table { it = value }.
toml::table it(const std::string& value) {
  try {
    return toml::parse("it = " + value);
  } catch (const toml::parse_error&) {
    return toml::table{{"it", value}};
  }
}

// "training.steps=40": makes tables on the way, and finds tables of lists by their numbers.
void set(toml::table& root, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos) throw std::invalid_argument("no setting: " + setting);
  toml::node* at = &root;
  std::size_t begin = 0;
  for (std::size_t dot; (dot = setting.find('.', begin)) < equals; begin = dot + 1) {
    const std::string key = setting.substr(begin, dot - begin);
    if (at->is_array()) at = at->as_array()->get(std::stoul(key));
    else if (toml::node* next = at->as_table()->get(key)) at = next;
    else at = &at->as_table()->insert(key, toml::table{}).first->second;
  }
  put(*at->as_table(), setting.substr(begin, equals - begin), *it(setting.substr(equals + 1)).get("it"));
}

toml::table table_of(const FieldValues& settings) {
  toml::table table;
  for (const std::string& one : settings) set(table, one);
  return table;
}

}  // namespace

ScenarioBuilder::ScenarioBuilder(const FieldValues& settings)
    : tree_(std::make_shared<Tree>(Tree{.root = table_of(settings)})) {}

ScenarioBuilder ScenarioBuilder::from(const std::string& toml) { return ScenarioBuilder().with(toml); }

ScenarioBuilder ScenarioBuilder::set(const FieldValues& settings) const {
  const auto tree = std::make_shared<Tree>(*tree_);
  for (const std::string& one : settings) psim::test::set(tree->root, one);
  return ScenarioBuilder(tree);
}

ScenarioBuilder ScenarioBuilder::add(const std::string& list, const FieldValues& fields) const {
  const auto tree = std::make_shared<Tree>(*tree_);
  merge(tree->root, toml::table{{list, toml::array{table_of(fields)}}});
  return ScenarioBuilder(tree);
}

ScenarioBuilder ScenarioBuilder::fault(const std::string& kind, const std::string& nodes,
                                       const FieldValues& fields) const {
  FieldValues all{"kind=" + kind, "nodes=" + (nodes.starts_with("[") ? nodes : "[\"" + nodes + "\"]")};
  all.insert(all.end(), fields.begin(), fields.end());
  return add("fault", all);
}

ScenarioBuilder ScenarioBuilder::straggler(int worker, double slowdown, const FieldValues& fields) const {
  FieldValues all{fmt::format("workers=[{}]", worker), fmt::format("slowdown={}", slowdown)};
  all.insert(all.end(), fields.begin(), fields.end());
  return add("straggler", all);
}

ScenarioBuilder ScenarioBuilder::with(const std::string& toml) const {
  const auto tree = std::make_shared<Tree>(*tree_);
  merge(tree->root, parsed(toml));
  return ScenarioBuilder(tree);
}

ScenarioBuilder ScenarioBuilder::with(const std::string& table, const std::string& fields) const {
  return with("[" + table + "]\n" + fields);
}

ScenarioBuilder ScenarioBuilder::links(const std::string& bandwidth, const std::string& latency) const {
  return set({"cluster.network.bandwidth=" + bandwidth, "cluster.network.latency=" + latency,
              "cluster.network.share_spread=0.0", "cluster.network.simgrid_model=cm02"});
}

ScenarioBuilder ScenarioBuilder::data_folder(const fs::path& folder) const {
  const auto tree = std::make_shared<Tree>(*tree_);
  tree->data_folders.push_back(folder);
  return ScenarioBuilder(tree);
}

std::string ScenarioBuilder::toml() const {
  std::ostringstream text;
  text << tree_->root << "\n";
  return text.str();
}

ScenarioBuilder::operator api::Scenario() const {
  api::Scenario scenario = api::Scenario::from_text(toml());
  for (const fs::path& folder : tree_->data_folders) scenario.data_folder(folder);
  return scenario;
}

Json ScenarioBuilder::run(const api::RunOptions& options) const {
  INFO(toml());
  return run_scenario(*this, options);
}

TracedRun ScenarioBuilder::trace() const {
  INFO(toml());
  const KeptRun run(*this);
  return {run.summary(), run.events()};
}

ScenarioBuilder phantom(std::int64_t parameters) {
  return ScenarioBuilder({"model.kind=phantom"}).set("model.parameters", parameters);
}

Json run_scenario(const api::Scenario& scenario, const api::RunOptions& options) {
  // Ten minutes of a processor end a run that does not end by itself; its process counts its own.
  rlimit limit{};
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = 600 + static_cast<rlim_t>(std::clock() / CLOCKS_PER_SEC);
  setrlimit(RLIMIT_CPU, &limit);
  return Json::parse(api::run(scenario, options).summary);
}

api::Scenario scenario_file(const std::string& file, const FieldValues& settings) {
  api::Scenario scenario = api::Scenario::from_file(source_folder() / file);
  for (const std::string& one : settings)
    scenario.set(one.substr(0, one.find('=')), one.substr(one.find('=') + 1));
  return scenario;
}

Json run_file(const std::string& file, const FieldValues& settings, int code) {
  INFO(file);
  Json summary = run_scenario(scenario_file(file, settings));
  REQUIRE(exit_code(summary) == code);
  return summary;
}

int exit_code(const Json& summary) { return is_yes(summary) ? 0 : 1; }

KeptRun::KeptRun(const api::Scenario& scenario, const std::string& trace, bool costs)
    : summary_(run_scenario(scenario, {.out = path().string(), .trace = trace, .costs = costs})) {}

Outcome KeptRun::ask(const std::string& command, const std::vector<std::string>& words) const {
  std::vector<std::string> all{command, "run"};
  all.insert(all.end(), words.begin(), words.end());
  return psim(all, folder_.path());
}

Json KeptRun::told(const std::string& command, std::vector<std::string> words) const {
  words.emplace_back("--json");
  const Outcome outcome = ask(command, words);
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.code == 0);
  return Json::parse(outcome.out);
}

void KeptRun::check_promises() const {
  const Outcome verdict = ask("verify");
  INFO(verdict.out << verdict.err);
  CHECK(verdict.code == 0);
}

}  // namespace psim::test
