// Turns a change into fields of a scenario.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "analysis/input.hpp"
#include "analysis/whatif/change.hpp"
#include "sim/scenario/spec/units.hpp"

namespace psim::analysis {
namespace {

// KEY=VALUE for a list of tables, in one line.
std::string list_text(std::string_view key, const toml::array& rows) {
  std::string text;
  for (const toml::node& row : rows) {
    std::ostringstream out;
    toml::table table = *row.as_table();
    table.is_inline(true);
    out << table;
    text += (text.empty() ? "" : ", ") + out.str();
  }
  std::ranges::replace(text, '\n', ' ');
  return fmt::format("{}=[{}]", key, text);
}

// Collects a change's fields.
class Sets {
 public:
  explicit Sets(const std::filesystem::path& run) : scenario_(toml_file(run / "scenario.toml")) {}

  bool has(std::string_view key) const { return static_cast<bool>(scenario_.at_path(key)); }
  std::string word(std::string_view key) const {
    return std::as_const(scenario_).at_path(key).value_or(std::string{});
  }
  toml::array list(std::string_view key) const {
    const toml::array* list = scenario_[key].as_array();
    return list == nullptr ? toml::array{} : *list;
  }
  // Multiplies a quantity, or each quantity of a list. The result is in the base unit.
  template <class Quantity>
  void times(const std::string& path, double factor) {
    const toml::node_view<const toml::node> field = std::as_const(scenario_).at_path(path);
    std::string key = path;  // "link[0].latency" is link.0.latency on the command line
    std::ranges::replace(key, '[', '.');
    std::erase(key, ']');
    if (const auto text = field.value<std::string_view>()) {
      out.push_back(fmt::format("{}={}", key, scaled<Quantity>(*text, factor)));
    } else if (const toml::array* list = field.as_array()) {
      std::string all;
      for (const toml::node& one : *list)
        all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ",
                           scaled<Quantity>(one.value_or(std::string_view{}), factor));
      out.push_back(fmt::format("{}=[{}]", key, all));
    }
  }
  void times_number(const std::string& key, double factor) {
    if (const auto number = std::as_const(scenario_).at_path(key).value<double>())
      out.push_back(fmt::format("{}={}", key, *number * factor));
  }
  void set(std::string_view key, const toml::array& rows) { out.push_back(list_text(key, rows)); }

  std::vector<std::string> out;

 private:
  template <class Quantity>
  static std::string scaled(std::string_view text, double factor) {
    const auto& names = Unit<Quantity>::names;
    return fmt::format("{}{}", parse_quantity(text, names).value_or(0) * factor, names[0].name);
  }
  toml::table scenario_;
};

toml::array numbers(const std::vector<std::uint32_t>& workers) {
  toml::array list;
  for (const std::uint32_t worker : workers) list.push_back(static_cast<std::int64_t>(worker));
  return list;
}

// A row without workers stays, with slowdown 1: each row draws from the random stream of its number, so no
// later row may move.
void without_stragglers(const Change& change, const Facts& facts, Sets& sets) {
  toml::array rows = sets.list("straggler");
  for (std::size_t n = 0; n < rows.size() && n < facts.stragglers.size(); ++n) {
    toml::table& row = *rows[n].as_table();
    std::vector<std::uint32_t> left;
    for (const std::uint32_t worker : facts.stragglers[n].workers) {
      const std::uint32_t node = 1 + facts.servers + worker;
      if (!change.nodes.empty() && std::ranges::find(change.nodes, node) == change.nodes.end())
        left.push_back(worker);
    }
    if (left.empty()) row.insert_or_assign("slowdown", 1.0);
    else row.insert_or_assign("workers", numbers(left));
  }
  sets.set("straggler", rows);
}

void without_faults(const Change& change, const Facts& facts, Sets& sets) {
  toml::array left;
  std::set<std::string> names;
  for (const std::uint32_t node : change.nodes) names.insert(facts.name_of(node));
  bool is_named = false;
  for (const toml::node& fault : sets.list("fault")) {
    toml::table row = *fault.as_table();
    const std::string kind = row["kind"].value_or(std::string{});
    const bool takes_away = kind == "crash" || kind == "restart" || kind == "leave" || kind == "join";
    if (!takes_away || row["nodes"].as_array() == nullptr) {
      left.push_back(row);
      continue;
    }
    toml::array nodes;
    for (const toml::node& one : *row["nodes"].as_array()) {
      const std::string name = one.value_or(std::string{});
      if (names.contains(name)) is_named = true;
      else nodes.push_back(name);
    }
    if (nodes.empty()) continue;
    row.insert_or_assign("nodes", nodes);
    left.push_back(row);
  }
  if (change.nodes.empty()) left.clear();
  else if (!is_named)
    throw Unverifiable(fmt::format("`{}`: no [[fault]] crashes {} by its name", change.text, *names.begin()),
                       "no-faults leaves out all of them");
  sets.set("fault", left);
  // Heartbeats and acknowledgements stay; only the fault disappears.
  if (sets.has("recovery.timeout")) sets.out.emplace_back("recovery.enabled=true");
}

// To make one worker faster, all workers become faster and the others become stragglers: a scenario has one
// computing time for all workers.
void compute(const Change& change, const Facts& facts, Sets& sets) {
  if (sets.has("group"))
    throw Unverifiable(fmt::format("`{}`: groups have times of their own", change.text),
                       "use --set with the field of the group");
  const double factor = std::max(change.factor, hardly_any);
  const bool has_times = sets.has("compute.time") || sets.has("cluster.worker.speed");
  if (!has_times && factor < 1)
    throw Unverifiable(fmt::format("`{}`: this run's times are those of a file", change.text),
                       "change the platform file or the trace, and run the scenario with it");
  const bool is_for_all = change.nodes.empty();
  std::vector<std::uint32_t> slower;
  for (std::uint32_t worker = 0; worker < facts.workers && (!is_for_all || !has_times); ++worker) {
    const bool is_meant = is_for_all || facts.worker(change.nodes.front()) == worker;
    if (is_meant == (factor > 1)) slower.push_back(worker);
  }
  if (has_times && (is_for_all || factor < 1)) {
    sets.times<Seconds>("compute.time", factor);
    sets.times<Seconds>("compute.shift", factor);
    sets.times<FlopsPerSecond>("cluster.worker.speed", 1 / factor);
    sets.times<FlopsPerSecond>("cluster.worker.device.speeds", 1 / factor);
  }
  if (slower.empty() || factor == 1) return;
  toml::array rows = sets.list("straggler");
  toml::table row;
  row.insert("workers", numbers(slower));
  row.insert("slowdown", std::max(factor, 1 / factor));
  rows.push_back(row);
  sets.set("straggler", rows);
}

void server_work(const Change& change, Sets& sets) {
  if (!sets.has("cluster.server.flops_per_value"))
    throw Unverifiable(fmt::format("`{}`: this run's servers need no time", change.text),
                       "cluster.server.flops_per_value gives them work");
  sets.times_number("cluster.server.flops_per_value", change.factor);
}

void overhead(const Change& change, Sets& sets) {
  const std::size_t before = sets.out.size();
  for (const std::string end : {"send", "receive"}) {
    sets.times<Seconds>(fmt::format("cluster.network.endpoint.{}_overhead", end), change.factor);
    sets.times<BytesPerSecond>(fmt::format("cluster.network.endpoint.{}_bandwidth", end),
                               1 / std::max(change.factor, hardly_any));
  }
  if (sets.out.size() == before)
    throw Unverifiable(fmt::format("`{}`: messages of this run take no time at their ends", change.text),
                       "cluster.network.endpoint.send_overhead gives them some");
}

void window(const Change& change, Sets& sets) {
  if (!sets.has("cluster.network.tcp_window"))
    throw Unverifiable(fmt::format("`{}`: this run's scenario has no window", change.text),
                       "--set cluster.network.tcp_window=\"4MiB\" gives it one");
  sets.times<Bytes>("cluster.network.tcp_window", change.factor);
}

// Moves crashes that have a date. Random crashes and crashes with a condition have none.
void later_crash(const Change& change, Sets& sets) {
  toml::array rows = sets.list("fault");
  bool is_any = false;
  for (toml::node& fault : rows) {
    toml::table& row = *fault.as_table();
    const auto at = row["at"].value<std::string_view>();
    if (row["kind"].value_or(std::string{}) != "crash" || !at) continue;
    const double date = parse_quantity(*at, Unit<Seconds>::names).value_or(0) + change.later;
    row.insert_or_assign("at", fmt::format("{}s", date));
    is_any = true;
  }
  if (!is_any)
    throw Unverifiable(fmt::format("`{}`: no crash of this run has a date", change.text),
                       "it needs a [[fault]] with kind = \"crash\" and `at`");
  sets.set("fault", rows);
}

template <class Quantity>
void network(const Change& change, const std::string& field, Sets& sets) {
  const std::string key = "cluster.network." + field;
  if (sets.word("architecture.over") == "devices")
    throw Unverifiable(fmt::format("`{}`: this run's stages are devices on a bus", change.text),
                       fmt::format("use --set cluster.worker.device.bus_{}", field));
  if (!sets.has(key))
    throw Unverifiable(fmt::format("`{}`: this run's network is that of a platform file", change.text),
                       "change the file, and run the scenario with it");
  sets.times<Quantity>(key, change.factor);
  for (std::size_t n = 0; sets.has(fmt::format("cluster.network.link[{}]", n)); ++n)
    sets.times<Quantity>(fmt::format("cluster.network.link[{}].{}", n, field), change.factor);
}

}  // namespace

std::vector<std::string> sets_of(const Change& change, const std::filesystem::path& run, const Facts& facts) {
  if (change.what == Change::What::set) return change.sets;
  Sets sets(run);
  switch (change.what) {
    case Change::What::no_straggler: without_stragglers(change, facts, sets); break;
    case Change::What::no_fault: without_faults(change, facts, sets); break;
    case Change::What::compute: compute(change, facts, sets); break;
    case Change::What::bandwidth: network<BytesPerSecond>(change, "bandwidth", sets); break;
    case Change::What::latency: network<Seconds>(change, "latency", sets); break;
    case Change::What::server_work: server_work(change, sets); break;
    case Change::What::overhead: overhead(change, sets); break;
    case Change::What::window: window(change, sets); break;
    case Change::What::later_crash: later_crash(change, sets); break;
    case Change::What::set: break;
  }
  return std::move(sets.out);
}

}  // namespace psim::analysis
