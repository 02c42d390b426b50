// A finished run as its folder tells it: what was asked for (scenario.toml), what it came to (summary.json)
// and everything that happened (the tables of run.db). Knows nothing of the simulator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace psim::analysis {

using Json = nlohmann::ordered_json;

// A type of events, or a kind of messages or of faults. Another name does not compile.
class Name {
 public:
  constexpr Name() = default;  // none of them
  consteval Name(const char* text) : Name(of(text)) {
    if (*this == Name()) throw "no name of a run's events";
  }
  static constexpr Name of(std::string_view text) {
    Name found;
    const auto place = std::ranges::find(all, text);
    if (place != std::end(all)) found.place_ = static_cast<std::uint8_t>(place - std::begin(all));
    return found;
  }
  constexpr std::string_view text() const { return all[place_]; }
  constexpr bool operator==(const Name&) const = default;

 private:
  static constexpr std::string_view all[] = {
      "",
      // tables of events; where a table has a phase or an outcome, that in its place
      "sent", "received", "lost", "begun", "paused", "resumed", "ended", "cancelled", "killed", "applied",
      "late", "unused", "duplicate", "refused", "model_update", "finish", "acknowledgement", "suspicion",
      "view_change", "place", "participant", "cut", "move", "snapshot", "copy", "promotion", "membership",
      "fault", "prediction", "repetition", "wait", "release", "given", "done", "slow_worker",
      // kinds of messages and of faults
      "pull", "weights", "push", "join", "heartbeat", "leave", "state", "restore", "samples", "chunk",
      "activation", "error", "assign", "piece", "start", "crash"};
  std::uint8_t place_ = 0;
};

// One event. Columns have the names of docs/tables.md; what an event does not have is 0.
struct Row {
  std::int64_t number = 0;
  double at = 0;     // simulated seconds
  double since = 0;  // likewise, of a wait
  Name type;         // of a computation its phase, of a push its outcome, else the table
  std::string_view table, kind, role, work, reason;  // kind: of the message or of the fault
  std::int64_t task = 0, unit = -1;                  // of a task: which [[task]], and which of its clock
  std::uint32_t node = 0;
  std::uint32_t peer = 0;  // the other node that it is about: receiver, sender, worker, replica, target, ...
  std::uint32_t shard = 0, new_shard = 0;  // new: of a cut
  std::int64_t sent = -1;                  // the number of the sending of the message that it is about, or -1
  std::int64_t clock = 0, version = 0, epoch = 0, view = 0;
  std::int64_t pull = 0, push = 0, above = -1, pushes_before = 0;  // of messages; push: of outcomes too
  std::int64_t staleness = 0, samples = 0, samples_before = 0, part = 0, parts = 0;
  std::int64_t applied = 0, arrived = 0, skipped_clocks = 0, takes_part = 0, is_awaited = 0;  // membership
  std::int64_t safe_pushes = 0, waiting_pushes = 0, updated_in = 0, leaves = 0, begins = 0;
  std::uint32_t from = 0;        // of a move: a node
  std::uint32_t releaser = 0;    // of a release: who sent the message that it is about
  std::int64_t fault_table = 0;  // of a fault: which of Facts::fault_factors
  std::int64_t has_target = 0;   // of a fault: it happens to its peer; else to all, or to no node
  std::uint64_t bytes = 0, weights_hash = 0, state_hash = 0;
  std::uint64_t values = 0, keys = 0, ids = 0;  // that a message carries; values: of a shard, too
  std::uint64_t new_values = 0;                 // of the new shard of a cut

  bool is(Name event) const { return type == event; }
  bool is(Name event, Name its_kind) const { return is(event) && kind == its_kind.text(); }
  bool is_message() const { return is("sent") || is("received") || is("lost"); }
  bool is_computation() const { return table == "computation"; }
  bool is_step() const { return work == "step"; }  // and not of a filter or of samples of others
  // What a server does with a push.
  bool is_outcome() const { return table == "push_outcome"; }
  bool is_dropped() const { return is_outcome() && !is("applied"); }
  bool takes_away() const { return is("fault", "crash") || is("fault", "leave"); }
  bool is_crash() const { return is("fault", "crash") && begins != 0; }
  bool is_last_part() const { return part + 1 == parts; }
};

// Workers that are slow: always, in a window of time, or by chance.
struct Straggler {
  std::vector<std::uint32_t> workers;
  double slowdown = 1;
  double from = 0;                    // seconds
  std::optional<double> until;        // seconds
  std::optional<double> every;        // seconds: the window comes again
  std::optional<double> probability;  // of a step
};

// "64B", "500MBps", "50us": in bytes, bytes per second, seconds, as psim writes them, exactly.
double quantity(std::string_view text);

// One [[task]]: units of a clock, -1 where there is one for all; the worker that does it, -1 where that is
// not said.
struct TaskFact {
  struct Input {
    std::size_t task;
    std::int64_t clocks_back;
    bool all;
  };
  std::string does;
  std::int64_t units = -1, worker = -1;
  bool anywhere = false, is_of_server = false;
  std::vector<Input> after = {};
};

// What the scenario promises.
struct Facts {
  std::uint32_t servers = 0, workers = 0;
  bool has_servers = true;
  std::string model;                                      // of consistency
  std::int64_t staleness = 0;                             // ssp: the bound; dssp: the upper one
  std::vector<std::pair<double, std::int64_t>> schedule;  // ssp: from this clock on, this bound
  std::int64_t group = 1;                                 // bsp, k models: pushes of an update
  std::vector<std::string> promises;                      // of the scenario's own
  std::string start_rule, update_rule;                    // expressions, of a model of the scenario's own
  std::int64_t steps = 0;                                 // clocks of each worker; 0: as many as fit
  double longest_retry = 0;  // seconds from one repetition of a message to the next at most
  std::int64_t pull_every = 1;
  // Seconds after which an update is made of what is there: since its first push, since the last update.
  std::optional<double> closing_window, closing_deadline;
  std::optional<std::int64_t> limit;  // of staleness
  bool drops_too_stale = false;       // pushes beyond the limit; else they count less
  bool cache = false;                 // workers pull only what the bound does not allow them to keep
  // Where layers have bounds of their own: of each shard; none: it has the one that is for all.
  std::map<std::uint32_t, std::optional<std::int64_t>> shard_bounds;
  std::optional<double> local_time;  // seconds: a clock has as many local steps as fit
  std::int64_t local_batch = 0;      // local_time: samples of one local step; 0: not known
  bool elastic = false;              // a push is sent before its clock's computation
  bool overlap = false;              // a clock begins when the weights of its first layers are here
  bool servers_work = false;         // an update takes time
  bool shares_out = false;           // the scheduler shares out the samples of a clock
  bool steals = false;               // workers compute samples of others
  bool sends_at_once = true;         // no message waits for its turn
  double slow_factor = 0;            // a worker is slow by more than this; 0: nobody looks
  std::int64_t copies = 0, window = 0;
  bool every_push = false;         // is replicated, not every update
  bool at_least_once = false;      // a push that comes again may be applied again
  std::uint32_t first_worker = 0;  // of a namespace: the run's number of its worker 0
  std::optional<double> duration;  // seconds
  // Samples of each of a worker's computations; none: they differ, or are not known.
  std::optional<std::int64_t> samples, first_samples;
  std::int64_t batches = 1, first_batches = 1;  // of a clock, and of a worker's first one
  bool warms_up = false;
  std::int64_t batch_size = 0;
  // Sizes of messages.
  std::uint64_t header = 0, bytes_per_value = 4, bytes_per_key = 0, bytes_per_listed_key = 4;
  bool filtered = false;
  bool sums = false;                // are what servers send
  std::string caches_keys = {};     // of what: push, pull, both; empty: of nothing
  bool plain_values = true;         // there is no filter but that of keys
  double disk = 0;                  // bytes per second
  std::vector<bool> here_at_first;  // by worker of the run
  std::vector<Straggler> stragglers;
  std::vector<TaskFact> tasks;        // by [[task]]
  std::vector<double> fault_factors;  // by [[fault]]: what is left of the speed or the bandwidth
  // A server's operations for each value that it takes, and in a second; no speed: the platform's.
  double server_flops_per_value = 0;
  std::vector<double> server_speeds;              // one for all, or by server
  double server_speed(std::uint32_t node) const;  // 0: the platform's
  bool copies_over_bus = false;             // a worker's computing is in part copies between its devices
  std::vector<std::string> others;          // names of the nodes after the workers
  std::vector<std::uint32_t> last_workers;  // of each job, among these
  bool serves = false;                      // there are inference nodes that pull its parameters
  std::vector<double> job_ends = {};        // where there are several: when the workers of each were through

  bool is_server(std::uint32_t node) const { return node > 0 && node <= servers; }
  // Whether all workers are in the same clock.
  bool in_step() const {
    const bool waits_for_all = model == "bsp" || (model == "k-sync" && group == workers);
    return !has_servers || (waits_for_all && !closing_window && !closing_deadline);
  }
  bool is_worker(std::uint32_t node) const { return node > servers && node <= servers + workers; }
  std::uint32_t worker(std::uint32_t node) const { return node - 1 - servers; }
  // Clocks that a worker which starts `clock` may be ahead of another; none: no bound. Of one shard; and of
  // all, which is the least.
  std::optional<std::int64_t> bound_at(std::int64_t clock, std::uint32_t shard) const;
  std::optional<std::int64_t> bound_at(std::int64_t clock) const;
  std::optional<std::int64_t> bound_for_all_at(std::int64_t clock) const;
  // "server 1", "worker 3", "storage", as scenarios call them.
  std::string name_of(std::uint32_t node) const;
};

// There is nothing to verify; `help` says how there would be.
struct Unverifiable : std::runtime_error {
  Unverifiable(const std::string& what, std::string advice)
      : std::runtime_error(what), help(std::move(advice)) {}
  std::string help;
};

Unverifiable unrelated_files(const std::filesystem::path& folder, std::string_view why);
// ... of a summary that lacks something, or has something else in its place.
Unverifiable unfit_summary(const std::filesystem::path& folder, const Json::exception& error);

// One of several jobs (namespaces of parameters): its scenario promises something else than the others', and
// it has workers and shards of its own.
struct Job {
  Facts facts;
  Json summary;  // of its first group, with the run's `stuck`
  std::uint32_t first_shard = 0, shards = 0;
  std::uint32_t all_workers = 0;  // of the run

  // The event as a run of this job alone would number its nodes and its shard; none if it is about another
  // job's. What is about no job, as a server's crash, is all jobs'.
  std::optional<Row> own(const Row& row) const;
};

class RunRecord {
 public:
  // Throws Unverifiable for a folder that is no run, a run without events, and files that do not belong
  // together.
  explicit RunRecord(const std::filesystem::path& folder);

  Facts facts;
  Json summary;
  std::vector<Job> jobs;           // empty when there is only one
  std::vector<std::string> names;  // of the run's nodes: "server 1", "storage"
  // Calls `row` with every event, in order; returns their number. Throws Unverifiable at one that cannot be
  // of a run of this scenario.
  std::int64_t each(const std::function<void(const Row&)>& row) const;
  // For what is no event: the tables of run.db besides those.
  const std::filesystem::path& database() const { return database_; }

 private:
  void read_jobs(const std::filesystem::path& folder);
  std::filesystem::path database_;
};

}  // namespace psim::analysis
