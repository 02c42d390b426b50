// A finished run, read from its folder: the scenario (scenario.toml), the results (summary.json) and all
// events (the tables of run.db).
#pragma once

#include <nlohmann/json.hpp>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/database.hpp"
#include "model/base/user_error.hpp"
#include "sim/record/event_fields.hpp"
#include "sim/record/facts.hpp"
#include "sim/record/summary_schema.hpp"

namespace psim::analysis {

// What happened: the type of an event; of a message or a fault also its kind, of a computation or a task its
// phase, and of a push its outcome.
class What {
 public:
  // Whether the type is one of Ts, and the kind or phase, if any is given, one of `kinds`.
  template <class... Ts>
  requires(sizeof...(Ts) > 0) bool is(auto... kinds) const {
    constexpr bool is_any = sizeof...(kinds) == 0;
    return ((type_ == subject_number<Ts>) || ...) &&
           (is_any || ((kind_ == static_cast<std::uint8_t>(kinds)) || ...));
  }
  bool is(std::same_as<ComputePhase> auto... phases) const { return is<Computation>(phases...); }
  bool is(std::same_as<TaskPhase> auto... phases) const { return is<TaskChange>(phases...); }
  bool is(std::same_as<Outcome> auto... outcomes) const { return is<PushOutcome>(outcomes...); }
  bool is_message() const { return is<Sent, Received, Lost>(); }
  // Neither a filter nor samples of other workers.
  bool is_step(auto... phases) const { return is<Computation>(phases...) && work_ == Work::step; }
  bool is_dropped() const { return is<PushOutcome>() && !is(Outcome::applied); }
  // The kind of a fault; null for other events.
  const FaultKindRow* fault() const { return is<FaultChange>() ? &*FaultKind::at(kind_) : nullptr; }
  bool takes_away() const { return fault() != nullptr && (fault()->crashes || fault()->leaves); }
  bool is_event() const { return type_ != none; }

  // The phase of a computation or a task, the outcome of a push, otherwise the table; empty: no event.
  std::string_view name() const;
  // The kind of a message or of a fault, the work of a computation, the reason of a release; otherwise empty.
  std::string_view word() const;
  bool is_like(const What& other) const {
    return type_ == other.type_ && kind_ == other.kind_ && work_ == other.work_;
  }

 protected:
  // Leaves out the kind of a message that was sent before.
  template <class T>
  void take_type(const T& what);

 private:
  static constexpr std::uint8_t none = 0xff;
  std::uint8_t type_ = none, kind_ = none;
  Work work_ = {};
};

// An event as plain numbers. A number that the event lacks is 0.
struct Moment : What {
  std::int64_t number = 0;
  double at = 0, since = 0;  // simulated seconds; since: start of a wait
  std::uint32_t node = 0;
  std::uint32_t peer = 0;  // the other node: receiver, sender, worker, replica, target, ...
  std::uint32_t shard = 0, part = 0;
  std::int64_t sent = -1;  // the message (number of its sending), or -1
  std::int64_t clock = 0, version = 0, staleness = 0;
  std::uint64_t bytes = 0;
  bool begins = false;  // of a fault

  bool is_crash() const { return begins && fault() != nullptr && fault()->crashes; }
  // The end of a fault, or a fault that adds a node, starts `peer`.
  bool starts_peer() const {
    return fault() != nullptr && (fault()->crashes ? !begins : fault()->joins || fault()->restarts);
  }
};

// An event with its content.
struct Row : Moment {
  // `message`: the sending of a message that is received or lost; none if it is unknown.
  Row(std::int64_t number, Event event, std::optional<Sent> message = {});

  Event event;
  std::optional<Sent> message;
  bool is_detail = false;  // only adds details to another event of the same moment
  bool has_shard = false;
  std::int64_t epoch = 0, view = 0, pull = 0, push = 0, samples = 0;
  std::uint64_t values = 0;

  // The content of an event of this type.
  template <class T>
  const T& as() const {
    return std::get<T>(event.what);
  }

 private:
  template <class T>
  void take(const T& what);
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
  friend std::int64_t each_event(const RunRecord& run, const std::function<void(const Row&)>& on_row);
  void read_jobs();
  InputDatabase database_;
  mutable std::shared_ptr<const std::vector<Row>> rows_;  // read before; none: not yet, or too many
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
