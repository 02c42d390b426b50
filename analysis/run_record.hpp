// A finished run, read from its folder: the scenario (scenario.toml), the results (summary.json) and all
// events (the tables of run.db). Independent of the simulator.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/database.hpp"
#include "model/base/user_error.hpp"
#include "sim/record/event_names.hpp"
#include "sim/record/facts.hpp"
#include "sim/record/summary_schema.hpp"

namespace psim::analysis {

// One event as a row of its table in run.db.

// A type of events, or a kind of messages or faults. Any other name does not compile.
class Name {
 public:
  constexpr Name() = default;  // no name
  consteval Name(const char* text) : Name(of(text)) {
    if (*this == Name()) throw "no name of a run's events";
  }
  static constexpr Name of(std::string_view text) {
    Name found;
    const auto place = std::ranges::find(event_names, text);
    if (place != event_names.end())
      found.place_ = static_cast<std::uint8_t>(1 + (place - event_names.begin()));
    return found;
  }
  constexpr std::string_view text() const { return place_ == 0 ? "" : event_names[place_ - 1]; }
  constexpr bool operator==(const Name&) const = default;

 private:
  std::uint8_t place_ = 0;
};

// One event. Members have the names of docs/tables.md; a column that the event lacks is 0.
struct Row {
  std::int64_t number = 0;
  double at = 0;            // simulated seconds
  double since = 0;         // start of a wait; simulated seconds
  std::int64_t cause = -1;  // the event that caused it; -1: none
  std::string_view spent;   // the use of the time since the cause; empty: none
  Name type;                // phase of a computation, outcome of a push, otherwise the table
  std::string_view table, kind, role, work, reason;  // kind: of the message or of the fault
  bool is_detail = false;                            // only adds details to another event of the same moment
  std::int64_t task = 0, unit = -1;  // of a task: its [[task]], and its number within the clock
  std::uint32_t node = 0;
  std::uint32_t peer = 0;                  // the other node: receiver, sender, worker, replica, target, ...
  std::uint32_t shard = 0, new_shard = 0;  // new: of a cut
  std::int64_t sent = -1;                  // the message (number of its sending), or -1
  std::int64_t clock = 0, version = 0, epoch = 0, view = 0;
  std::int64_t pull = 0, push = 0, above = -1, pushes_before = 0;  // of messages; push: of outcomes too
  std::int64_t staleness = 0, samples = 0, samples_before = 0, part = 0, parts = 0;
  std::int64_t applied = 0, arrived = 0, skipped_clocks = 0, takes_part = 0, is_awaited = 0;  // membership
  std::int64_t safe_pushes = 0, waiting_pushes = 0, updated_in = 0, leaves = 0, begins = 0;
  std::uint32_t from = 0;        // of a move: a node
  std::uint32_t releaser = 0;    // of a release: the sender of the message that released the pull
  std::int64_t fault_table = 0;  // of a fault: index in Facts::fault_factors
  std::int64_t has_target = 0;   // of a fault: 1 if it hits `peer`; 0 if it hits all nodes or none
  std::uint64_t bytes = 0, weights_hash = 0, state_hash = 0;
  std::uint64_t values = 0, keys = 0, ids = 0;  // in a message; values: of a shard, too
  std::uint64_t new_values = 0;                 // of the new shard of a cut

  bool is(Name event) const { return type == event; }
  bool is(Name event, Name its_kind) const { return is(event) && kind == its_kind.text(); }
  bool is_message() const { return is("sent") || is("received") || is("lost"); }
  bool is_computation() const { return table == "computation"; }
  bool is_step() const { return work == "step"; }  // not a filter, and not samples of other workers
  // Whether the event is the outcome of a push.
  bool is_outcome() const { return table == "push_outcome"; }
  bool is_dropped() const { return is_outcome() && !is("applied"); }
  bool takes_away() const { return is("fault", "crash") || is("fault", "leave"); }
  bool is_crash() const { return is("fault", "crash") && begins != 0; }
  bool is_last_part() const { return part + 1 == parts; }
};

using Json = nlohmann::ordered_json;

using Straggler = SlowWorkers;

// The promises of the scenario, and the numbers and names of nodes.
struct Facts : RunFacts {
  // With bounds per layer: the bound of each shard. none: the bound for all shards.
  std::map<std::uint32_t, std::optional<std::int64_t>> shard_bounds;
  std::uint32_t first_worker = 0;           // of a namespace: number of its worker 0 in the run
  std::vector<bool> here_at_first;          // by worker
  std::vector<std::string> others;          // names of the nodes after the workers
  std::vector<std::uint32_t> last_workers;  // last worker of each job
  std::vector<double> job_ends = {};  // with several jobs: the date when the workers of each had finished

  bool is_server(std::uint32_t node) const { return node > 0 && node <= servers; }
  // Whether the first shard decides for this shard.
  bool follows(std::uint32_t shard) const { return rule.first_shard_decides && shard > 0; }
  // Whether all workers are always in the same clock.
  bool in_step() const { return !has_servers || rule.waits_for_all(); }
  bool is_worker(std::uint32_t node) const { return node > servers && node <= servers + workers; }
  std::uint32_t worker(std::uint32_t node) const { return node - 1 - servers; }
  // The allowed lead (clocks) of a worker that starts `clock`; none: no bound. First for one shard, then for
  // all shards: the smallest bound.
  std::optional<std::int64_t> bound_at(std::int64_t clock, std::uint32_t shard) const;
  std::optional<std::int64_t> bound_at(std::int64_t clock) const;
  std::optional<std::int64_t> bound_for_all_at(std::int64_t clock) const;
  // "server 1", "worker 3", "storage", as scenarios call them.
  std::string name_of(std::uint32_t node) const;
};

// The folder cannot be verified; `help` says how to get one that can.
struct Unverifiable : UserError {
  using UserError::UserError;
};

Unverifiable unrelated_files(const std::filesystem::path& folder, std::string_view why);
// For a summary that lacks a value or has a wrong type.
Unverifiable unfit_summary(const std::filesystem::path& folder, const Json::exception& error);

// One of several jobs (namespaces of parameters), with its own promises, workers and shards.
struct Job {
  Facts facts;
  Json summary;  // of its first group, with `stuck` of the run
  std::uint32_t first_shard = 0, shards = 0;
  std::uint32_t all_workers = 0;  // of the run

  // The event with the numbers that nodes and shards would have in a run of this job alone; none if it
  // belongs to another job. Events of no job (a crash of a server) belong to all jobs.
  std::optional<Row> own(const Row& row) const;
};

class RunRecord {
 public:
  // Throws Unverifiable if the folder is not a run, the run has no events, or the files do not belong
  // together.
  explicit RunRecord(const std::filesystem::path& folder);

  Facts facts;
  Json summary;
  std::vector<Job> jobs;           // empty if there is only one
  std::vector<std::string> names;  // of the nodes: "server 1", "storage"
  // run.db: the tables of events (run_record.hpp) and other tables.
  const InputDatabase& database() const { return database_; }

 private:
  void read_jobs();
  InputDatabase database_;
};

// Reads the events of a run from its tables, in order.

// Calls `on_row` with every event of the run, in order. Returns the number of events. Throws Unverifiable at
// an event that is impossible in this scenario.
std::int64_t each_event(const RunRecord& run, const std::function<void(const Row&)>& on_row);

// Values of a summary by their place.

// Null if the summary lacks it.
inline nlohmann::ordered_json value_at(const nlohmann::ordered_json& summary, SummaryPath path) {
  return summary.value(nlohmann::ordered_json::json_pointer(path), nlohmann::ordered_json());
}

}  // namespace psim::analysis
