// A finished run as its folder tells it: what was asked for (scenario.toml), what it came to (summary.json)
// and everything that happened (the tables of run.db). Knows nothing of the simulator.
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

// What the scenario promises, and what else tells who is who.
struct Facts : RunFacts {
  // Where layers have bounds of their own: of each shard; none: it has the one that is for all.
  std::map<std::uint32_t, std::optional<std::int64_t>> shard_bounds;
  std::uint32_t first_worker = 0;           // of a namespace: the run's number of its worker 0
  std::vector<bool> here_at_first;          // by worker of the run
  std::vector<std::string> others;          // names of the nodes after the workers
  std::vector<std::uint32_t> last_workers;  // of each job, among these
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
struct Unverifiable : UserError {
  using UserError::UserError;
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
  // run.db: the tables of events (run_events.hpp) and the others.
  const InputDatabase& database() const { return database_; }

 private:
  void read_jobs();
  InputDatabase database_;
};

}  // namespace psim::analysis
