#include "analysis/whatif/change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "sim/scenario/spec/units.hpp"

namespace psim::analysis {
namespace {

constexpr std::string_view examples =
    "for example no-straggler, 'no-straggler=worker 3', no-faults, 'no-crash=server 1', later-crash=2s, "
    "bandwidth=2x, latency=0.5x, window=2x, overhead=0.5x, server-work=0.5x, compute=0.5x, "
    "'compute=worker 3:50%', servers=4, placement=hash-ring, or --set KEY=VALUE";

// Changes that multiply a quantity by a factor.
struct Scaled {
  std::string_view name;
  Change::What what;
  bool may_be_none;
};
constexpr Scaled scaled[] = {{"bandwidth", Change::What::bandwidth, false},
                             {"latency", Change::What::latency, true},
                             {"server-work", Change::What::server_work, true},
                             {"overhead", Change::What::overhead, true},
                             {"window", Change::What::window, false}};
// Changes that give a field another value.
struct Shortcut {
  std::string_view name, key;
  bool is_text;
};
constexpr Shortcut shortcuts[] = {{"servers", "cluster.servers", false},
                                  {"placement", "placement.kind", true}};

[[noreturn]] void refuse(const std::string& text, const std::string& why, std::string_view help = examples) {
  throw Unverifiable(fmt::format("`{}`: {}", text, why), std::string(help));
}

// "2x", "50%", "0.5": 2, 0.5, 0.5.
std::optional<double> factor_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  if (error != std::errc{} || !(number >= 0) || number > 1e9) return std::nullopt;
  if (unit == "%") return number / 100;
  return unit.empty() || unit == "x" ? std::optional(number) : std::nullopt;
}

// "worker 3", "worker-3", "worker3".
std::uint32_t node_of(const std::string& text, std::string_view name, const Facts& facts) {
  const std::size_t digits = std::min(name.find_first_of("0123456789"), name.size());
  std::string_view role = name.substr(0, digits);
  if (role.ends_with(' ') || role.ends_with('-')) role.remove_suffix(1);
  const std::string_view number = name.substr(digits);
  std::uint32_t n = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
  const bool is_name =
      (role == "worker" || role == "server") && error == std::errc{} && end == number.data() + number.size();
  if (!is_name)
    refuse(text, fmt::format("`{}` is no node", name), "a node is called `worker 3` or `server 1`");
  const std::uint32_t there = role == "worker" ? facts.workers : facts.servers;
  if (n >= there)
    refuse(text, fmt::format("there is no {} {}", role, n),
           there == 0 ? fmt::format("this run has no {}s", role)
                      : fmt::format("this run has {} 0 to {} {}", role, role, there - 1));
  return role == "worker" ? 1 + facts.servers + n : 1 + n;
}

bool is_slow(const Facts& facts, std::uint32_t node) {
  return facts.is_worker(node) && std::ranges::any_of(facts.stragglers, [&](const Straggler& slow) {
           return std::ranges::find(slow.workers, facts.worker(node)) != slow.workers.end() &&
                  slow.slowdown > 1;
         });
}

std::vector<std::uint32_t> slow_nodes(const Facts& facts) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t w = 0; w < facts.workers; ++w) {
    if (const std::uint32_t node = 1 + facts.servers + w; is_slow(facts, node)) nodes.push_back(node);
  }
  return nodes;
}

Change without_straggler(const std::string& text, const std::string& value, const Facts& facts) {
  if (slow_nodes(facts).empty())
    refuse(text, "this run has no [[straggler]]",
           "compute=worker 3:50% asks what a faster worker would change");
  Change change{.what = Change::What::no_straggler, .nodes = {}, .text = text, .sets = {}};
  if (value.empty()) return change;
  change.nodes = {node_of(text, value, facts)};
  if (!is_slow(facts, change.nodes.front()))
    refuse(text, fmt::format("{} is no straggler", value),
           "`psim why` says who held up whom; compute=worker 3:50% asks what a faster worker would change");
  return change;
}

std::vector<Change> compute_changes(const std::string& text, const std::string& value, const Facts& facts) {
  const std::size_t colon = value.find(':');
  Change change{.what = Change::What::compute, .nodes = {}, .text = {}, .sets = {}};
  std::string_view factors = value;
  if (colon != std::string::npos) {
    change.nodes = {node_of(text, factors.substr(0, colon), facts)};
    if (facts.is_server(change.nodes.front()))
      refuse(text, "servers compute no steps", "name a worker: compute=worker 3:50%");
    factors.remove_prefix(colon + 1);
  }
  const std::string who = colon == std::string::npos ? "" : value.substr(0, colon + 1);
  const bool in_percent = factors.ends_with('%');
  std::vector<Change> changes;
  for (;;) {
    const std::size_t comma = factors.find(',');
    std::string one(factors.substr(0, comma));
    if (in_percent && !one.ends_with('%')) one += '%';
    const std::optional<double> factor = factor_of(one);
    if (!factor) refuse(text, fmt::format("`{}` is no factor", one), "a factor is written 50%, 0.5x or 2x");
    change.factor = *factor;
    change.text = fmt::format("compute={}{}", who, one);
    changes.push_back(change);
    if (comma == std::string_view::npos) return changes;
    factors.remove_prefix(comma + 1);
  }
}

Change later_crash(const std::string& text, const std::string& value, const Facts& facts) {
  const std::optional<double> later = parse_quantity(value, Unit<Seconds>::names);
  if (!later || !(*later > 0))
    refuse(text, fmt::format("`{}` is no duration", value), "a duration is written 2s, 500ms or 1min");
  if (facts.fault_factors.empty())
    refuse(text, "this run has no [[fault]]", "`psim why` says what took its time");
  return {.what = Change::What::later_crash, .nodes = {}, .later = *later, .text = text, .sets = {}};
}

}  // namespace

std::vector<Change> changes_of(const std::string& text, const Facts& facts) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals),
                    value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (name == "no-straggler" || name == "no-stragglers") return {without_straggler(text, value, facts)};
  if ((name == "no-faults" || name == "no-crash") && facts.fault_factors.size() == 0)
    refuse(text, "this run has no [[fault]]", "`psim why` says what took its time");
  if (name == "no-faults" && value.empty())
    return {{.what = Change::What::no_fault, .nodes = {}, .text = text, .sets = {}}};
  if (name == "no-crash" && !value.empty())
    return {
        {.what = Change::What::no_fault, .nodes = {node_of(text, value, facts)}, .text = text, .sets = {}}};
  if (name == "compute" && !value.empty()) return compute_changes(text, value, facts);
  if (name == "later-crash" && !value.empty()) return {later_crash(text, value, facts)};
  if (const auto one = std::ranges::find(scaled, name, &Scaled::name); one != std::end(scaled)) {
    const std::optional<double> factor = factor_of(value);
    if (!factor || (!one->may_be_none && *factor == 0))
      refuse(text, fmt::format("`{}` is no factor", value), "a factor is written 2x, 0.5x or 50%");
    return {{.what = one->what, .nodes = {}, .factor = *factor, .text = text, .sets = {}}};
  }
  if (const auto one = std::ranges::find(shortcuts, name, &Shortcut::name); one != std::end(shortcuts)) {
    if (value.empty()) refuse(text, "has no value");
    const std::string set =
        fmt::format("{}={}", one->key, one->is_text ? fmt::format("\"{}\"", value) : value);
    return {{.what = Change::What::set, .nodes = {}, .text = text, .sets = {set}}};
  }
  if (name.find('.') == std::string::npos || equals == std::string::npos) refuse(text, "is no change");
  return {{.what = Change::What::set, .nodes = {}, .text = text, .sets = {text}}};
}

std::vector<Change> usual_changes(const RunRecord& record, const CausalGraph& graph, std::uint32_t busiest) {
  std::vector<Change> changes;
  const auto add = [&](const std::string& text) {
    for (Change& change : changes_of(text, record.facts)) {
      if (std::ranges::find(changes, change) == changes.end()) changes.push_back(std::move(change));
    }
  };
  const Facts& facts = record.facts;
  const std::vector<std::uint32_t> slow = slow_nodes(facts);
  if (!slow.empty()) add("no-straggler");
  constexpr std::size_t most = 8;
  if (slow.size() > 1 && slow.size() <= most) {
    for (const std::uint32_t node : slow) add("no-straggler=" + facts.name_of(node));
  }
  std::set<std::uint32_t> crashed;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Moment& moment = graph.moments[id];
    if (moment.is_crash() && (facts.is_server(moment.node) || facts.is_worker(moment.node)))
      crashed.insert(moment.node);
  }
  if (facts.fault_factors.size() > 0) add("no-faults");
  if (crashed.size() > 1 && crashed.size() <= most) {
    for (const std::uint32_t node : crashed) add("no-crash=" + facts.name_of(node));
  }
  add("bandwidth=2x");
  add("latency=0.5x");
  if (facts.servers_work) add("server-work=0.5x");
  query(record.database(),
        "SELECT coalesce(send_overhead_s, 0) + coalesce(receive_overhead_s, 0) > 0 OR "
        "send_bandwidth IS NOT NULL OR receive_bandwidth IS NOT NULL FROM ends",
        [&](sqlite3_stmt* row) {
          if (sqlite3_column_int(row, 0) != 0) add("overhead=0.5x");
        });
  add("compute=0.5x");
  if (facts.is_worker(busiest)) add(fmt::format("compute={}:50%", facts.name_of(busiest)));
  if (facts.has_servers) add(fmt::format("servers={}", 2 * facts.servers));
  if (facts.servers > 1) add("placement=hash-ring");
  if (!crashed.empty()) add("later-crash=1s");
  return changes;
}

}  // namespace psim::analysis
