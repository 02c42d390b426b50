#include "sim/fuzz/shrink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "model/base/input.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/text/toml_text.hpp"

namespace psim::fuzz {
namespace {

constexpr auto counts = std::to_array<std::string_view>({"workers", "servers", "steps", "copies"});

bool is_needed(const Table& table) {
  return std::ranges::any_of(table.rows, [](const Row& row) { return row.needed; });
}

// All drafts that are one step smaller than `draft`, the most promising first.
std::vector<Draft> smaller(const Draft& draft) {
  std::vector<Draft> result;
  for (const bool faults : {true, false}) {
    for (std::size_t i = draft.tables.size(); i-- > 0;) {
      if (is_needed(draft.tables[i]) || (draft.tables[i].name == "fault") != faults) continue;
      result.push_back(draft);
      result.back().tables.erase(result.back().tables.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  const auto each_row = [&](const auto& look) {
    for (std::size_t i = 0; i < draft.tables.size(); ++i) {
      for (std::size_t j = 0; j < draft.tables[i].rows.size(); ++j) look(i, j, draft.tables[i].rows[j]);
    }
  };
  each_row([&](std::size_t i, std::size_t j, const Row& row) {
    if (row.needed) return;
    std::vector<Row>& less = result.emplace_back(draft).tables[i].rows;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(j));
  });
  each_row([&](std::size_t i, std::size_t j, const Row& row) {
    std::int64_t count = 0;
    std::from_chars(row.value.data(), row.value.data() + row.value.size(), count);
    if (std::ranges::find(counts, row.key) == counts.end() || count < 2) return;
    for (const std::int64_t less : {count / 2, count - 1})
      result.emplace_back(draft).tables[i].rows[j].value = fmt::to_string(less);
  });
  return result;
}

}  // namespace

Draft shrink(Draft draft, const std::function<bool(const Draft&)>& shows) {
  std::set<std::string> asked;
  for (bool found = true; found;) {
    found = false;
    for (Draft& candidate : smaller(draft)) {
      if (!asked.insert(to_toml(candidate)).second || !shows(candidate)) continue;
      draft = std::move(candidate);
      found = true;
      break;
    }
  }
  return draft;
}

std::optional<Table> consistency_of(const std::filesystem::path& file) {
  toml::table root = toml::parse(read_input(file), file.string());
  const toml::table* given = root.get_as<toml::table>("consistency");
  if (given == nullptr) return std::nullopt;
  Table table{.name = "consistency", .rows = {}};
  for (const auto& [key, value] : *given)
    table.rows.push_back({std::string(key.str()), toml_of(value), true});
  return table;
}

Draft with_consistency(Draft draft, const Table& consistency) {
  std::erase_if(draft.tables, [](const Table& table) { return table.name.starts_with("consistency."); });
  draft["consistency"] = consistency;
  return draft;
}

namespace {

using Nodes = std::vector<std::uint32_t>;

constexpr double seldom = 0.3;        // with this probability of loss a message soon arrives ...
constexpr double many_attempts = 30;  // ... at least once in this number of attempts
constexpr double rarely = 1e-4;       // probability that a silence causes a suspicion

// Whether a later fault at a fixed date reverses `fault` on all its nodes.
bool is_undone(const Scenario& scenario, const FaultSpec& fault) {
  const Nodes nodes = fault_nodes(scenario.cluster, fault.nodes);
  return fault.at && std::ranges::any_of(scenario.faults, [&](const FaultSpec& other) {
           if (other.kind->undoes != fault.kind->name || !other.at || other.at->value <= fault.at->value)
             return false;
           const Nodes back = fault_nodes(scenario.cluster, other.nodes);
           return std::ranges::all_of(
               nodes, [&](std::uint32_t node) { return std::ranges::find(back, node) != back.end(); });
         });
}

bool passes_by(const Scenario& scenario, const FaultSpec& fault) {
  if (fault.mtbf || fault.every) return false;
  const FaultKindRow& kind = *fault.kind;
  if (kind.crashes) return fault.restart_after || is_undone(scenario, fault);
  if (kind.joins) return fault.when.empty();  // otherwise the node may never join
  if (fault.until || fault.lasts) return true;
  if (kind.slows && fault.factor.value_or(0) <= 0) return false;
  if (kind.degrades && fault.factor.value_or(0) <= 0.1) return false;  // requests accumulate
  return !kind.cuts || is_undone(scenario, fault);
}

// The share of all messages, or of messages of one kind, that is not lost.
double arriving(const Scenario& scenario, std::string_view message = {}) {
  double arrives = 1;
  for (const FaultSpec& fault : scenario.faults) {
    const std::vector<std::string>& kinds = fault.messages;
    const bool is_meant =
        message.empty() || kinds.empty() || std::ranges::find(kinds, message) != kinds.end();
    if (fault.kind->drops && is_meant && !fault.until && !fault.lasts) arrives *= 1 - fault.probability;
  }
  return arrives;
}

// Permanent loss is tolerable if patience allows many repetitions.
bool comes_through(const Scenario& scenario) {
  const double arrives = arriving(scenario);
  const RecoverySpec& recovery = scenario.recovery;
  return arrives == 1 ||
         (arrives >= 1 - seldom && recovery.patience.value >= many_attempts * recovery.longest_retry.value);
}

// The scheduler repeatedly suspects a live server whose heartbeats are always lost. Its shards restart from
// the beginning if no other node has them, so chance decides whether a training ends in between.
bool begins_anew(const Scenario& scenario) {
  const RecoverySpec& recovery = scenario.recovery;
  const bool moves = scenario.architecture.has_servers() && scenario.cluster.servers > 1 &&
                     recovery.servers == LostServers::neighbour;
  const bool is_kept = scenario.replication.copies > 0 || scenario.snapshot.every;
  const double lost = 1 - arriving(scenario, "heartbeat");
  if (!moves || is_kept || lost <= 0) return false;
  // The number of lost heartbeats until phi-accrual suspects a server depends on the previous gaps.
  if (recovery.detector != DetectorKind::timeout) return true;
  return std::pow(lost, std::floor(recovery.timeout.value / recovery.heartbeat.value)) > rarely;
}

// An update of a custom model may need more workers than are left.
bool waits_for_the_gone(const Scenario& scenario, const std::set<std::uint32_t>& gone) {
  const SlowSpec& slow = scenario.recovery.slow;
  const auto is_worker = [&](std::uint32_t node) { return node > scenario.cluster.servers; };
  const bool some_are_dropped = slow.given && slow.action != SlowAction::flag;
  const bool some_go = some_are_dropped || std::ranges::any_of(gone, is_worker);
  return scenario.consistency.model->has_own_logic() && some_go;
}

// If a server needs longer for the messages of a step than the timeouts of other nodes, they repeat their
// messages or suspect it, and its queue grows.
bool drowns(const Scenario& scenario) {
  const EndpointSpec& endpoint = scenario.cluster.network.endpoint;
  const double overhead = endpoint.send_overhead.value + endpoint.receive_overhead.value;
  const auto shards = static_cast<std::int64_t>(key_space_of(scenario).shards.size());
  const std::int64_t of_server = (shards + scenario.cluster.servers - 1) / scenario.cluster.servers;
  const std::int64_t exchanges = 2 + scenario.replication.copies;  // a pull, a push, entries of the log
  const double busy = overhead * static_cast<double>(of_server * scenario.cluster.workers * exchanges);
  const RecoverySpec& recovery = scenario.recovery;
  return busy > std::min(recovery.longest_retry.value, recovery.timeout.value);
}

}  // namespace

bool must_end(const Scenario& scenario) {
  if (scenario.training.give_up) return false;  // a worker may be too slow for it
  if (!scenario.may_fail()) return true;
  // During one transfer over a slow link such heartbeats use up the events that a run gets for an advance.
  constexpr double hectic = 50e-6;  // seconds
  if (scenario.recovery.heartbeat.value < hectic) return false;
  if (scenario.recovery.retry_limit > 0 || !comes_through(scenario) || begins_anew(scenario)) return false;
  std::set<std::uint32_t> gone;
  for (const FaultSpec& fault : scenario.faults) {
    if (!passes_by(scenario, fault)) return false;
    const Nodes nodes = fault_nodes(scenario.cluster, fault.nodes);
    if (fault.kind->leaves) gone.insert(nodes.begin(), nodes.end());
  }
  if (waits_for_the_gone(scenario, gone)) return false;
  if (scenario.architecture.has_servers() && drowns(scenario)) return false;
  // The contents of a lost worker are lost, and the other workers wait for it.
  const auto crashes = [](const FaultSpec& fault) { return fault.kind->crashes; };
  if (!scenario.architecture.has_servers())
    return scenario.recovery.workers != LostWorkers::wait || std::ranges::none_of(scenario.faults, crashes);
  const auto servers = static_cast<std::uint32_t>(scenario.cluster.servers);
  const auto left =
      std::ranges::count_if(gone, [&](std::uint32_t node) { return node > 0 && node <= servers; });
  return left < scenario.cluster.servers;
}

}  // namespace psim::fuzz
