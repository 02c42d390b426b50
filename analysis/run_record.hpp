// A finished run, read from its folder: the scenario (scenario.toml), the results (summary.json) and all
// events (the tables of run.db). Independent of the simulator.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/event_row.hpp"
#include "model/input_database.hpp"
#include "model/user_error.hpp"
#include "sim/record/facts.hpp"

namespace psim::analysis {

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
  // Whether all workers are always in the same clock.
  // Whether the first shard decides for this shard.
  bool follows(std::uint32_t shard) const { return first_decides && shard > 0; }
  bool in_step() const {
    const bool waits_for_all = model == "bsp" || (model == "k-sync" && group == workers);
    return !has_servers || (waits_for_all && !closing_window && !closing_deadline);
  }
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
  // run.db: the tables of events (run_events.hpp) and other tables.
  const InputDatabase& database() const { return database_; }

 private:
  void read_jobs();
  InputDatabase database_;
};

}  // namespace psim::analysis
