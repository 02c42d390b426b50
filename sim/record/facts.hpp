// The facts that readers of a run's events need: the rule, the sizes and the speeds, as the simulator
// resolved them. run.db holds them (table `fact`), so readers do not need the scenario.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/protocol/resolved_rule.hpp"

namespace psim {

struct Scenario;

// Workers that are slow: always, in a window of time, or by chance.
struct SlowWorkers {
  std::vector<std::uint32_t> workers;
  double slowdown = 1;
  double from = 0;                    // seconds
  std::optional<double> until;        // seconds
  std::optional<double> every;        // seconds: the window comes again
  std::optional<double> probability;  // of a step

  template <class Visit>
  static void members(Visit&& visit) {
    using T = SlowWorkers;
    visit("workers", &T::workers);
    visit("slowdown", &T::slowdown);
    visit("from_s", &T::from);
    visit("until_s", &T::until);
    visit("every_s", &T::every);
    visit("probability", &T::probability);
  }
};

// One [[task]]. units: of a clock; -1: one for all. worker: the worker that does it; -1: not specified.
struct TaskFact {
  struct Input {
    std::size_t task = 0;
    std::int64_t clocks_back = 0;
    bool all = false;

    template <class Visit>
    static void members(Visit&& visit) {
      visit("task", &Input::task);
      visit("clocks_back", &Input::clocks_back);
      visit("all", &Input::all);
    }
  };
  std::string does;
  std::int64_t units = -1, worker = -1;
  bool anywhere = false, is_of_server = false;
  std::vector<Input> after = {};

  template <class Visit>
  static void members(Visit&& visit) {
    using T = TaskFact;
    visit("does", &T::does);
    visit("units", &T::units);
    visit("worker", &T::worker);
    visit("anywhere", &T::anywhere);
    visit("is_of_server", &T::is_of_server);
    visit("after", &T::after);
  }
};

// The facts of a scenario, or of one of its jobs.
struct RunFacts {
  std::uint32_t servers = 0, workers = 0;
  bool has_servers = true;
  ResolvedRule rule;
  std::int64_t k = 0;                   // in expressions
  std::vector<std::string> promises;    // that the scenario defines
  std::string start_rule, update_rule;  // expressions of a model that the scenario defines
  std::int64_t steps = 0;               // clocks of each worker; 0: as many as fit
  double longest_retry = 0;             // most seconds between two repetitions of a message
  std::int64_t pull_every = 1;
  std::optional<std::int64_t> limit;  // of staleness: servers drop pushes beyond it
  bool cache = false;                 // workers pull only weights that are older than the bound allows
  std::optional<double> local_time;   // seconds: a clock has as many local steps, or batches, as fit
  std::int64_t most_batches = 0;      // but no more than this; 0: local steps fit
  std::optional<double> give_up;      // seconds: longer computations are given up
  std::int64_t dynamic_steps = 0;  // local steps of the fastest worker, where others take fewer; 0: none do
  std::int64_t local_batch = 0;    // for both: samples of one local step; 0: not known
  bool pushes_early = false;       // a push may leave before its clock has been computed
  bool overlap = false;            // a clock begins as soon as the weights of its first layers have arrived
  bool shares_out = false;         // the scheduler shares out the samples of a clock
  bool steals = false;             // workers compute samples of others
  double slow_factor = 0;          // a worker above this factor is slow; 0: no detection
  std::int64_t copies = 0, window = 0;
  bool every_push = false;         // every push is replicated, not every update
  bool at_least_once = false;      // a repeated push may be applied again
  std::optional<double> duration;  // seconds
  // Samples of each computation of a worker; none: they differ, or are unknown.
  std::optional<std::int64_t> samples, first_samples;
  std::int64_t batches = 1, first_batches = 1;  // per clock, and in a worker's first clock
  bool warms_up = false;
  std::int64_t batch_size = 0;
  // Sizes of messages.
  std::uint64_t header = 0, bytes_per_value = 4, bytes_per_key = 0, bytes_per_listed_key = 4;
  bool filtered = false;
  bool sums = false;             // servers send sums of gradients, not weights
  std::string caches_keys = {};  // for which messages: push, pull, both; empty: none
  bool plain_values = true;      // no filter changes values; only keys may be filtered
  bool copies_over_bus = false;  // a part of a worker's computing is copies between its devices
  bool serves = false;           // inference nodes pull its parameters
  bool servers_work = false;     // an update takes time
  bool sends_at_once = true;     // no message waits in a queue before it is sent
  double disk = 0;               // bytes per second
  std::vector<SlowWorkers> stragglers;
  std::vector<TaskFact> tasks;        // by [[task]]
  std::vector<double> fault_factors;  // by [[fault]]: the remaining share of the speed or the bandwidth

  template <class Visit>
  static void members(Visit&& visit) {
    using T = RunFacts;
    visit("servers", &T::servers);
    visit("workers", &T::workers);
    visit("has_servers", &T::has_servers);
    visit("rule", &T::rule);
    visit("k", &T::k);
    visit("promises", &T::promises);
    visit("start_rule", &T::start_rule);
    visit("update_rule", &T::update_rule);
    visit("steps", &T::steps);
    visit("longest_retry_s", &T::longest_retry);
    visit("pull_every", &T::pull_every);
    visit("limit", &T::limit);
    visit("cache", &T::cache);
    visit("local_time_s", &T::local_time);
    visit("most_batches", &T::most_batches);
    visit("give_up_s", &T::give_up);
    visit("dynamic_steps", &T::dynamic_steps);
    visit("local_batch", &T::local_batch);
    visit("pushes_early", &T::pushes_early);
    visit("overlap", &T::overlap);
    visit("shares_out", &T::shares_out);
    visit("steals", &T::steals);
    visit("slow_factor", &T::slow_factor);
    visit("copies", &T::copies);
    visit("window", &T::window);
    visit("every_push", &T::every_push);
    visit("at_least_once", &T::at_least_once);
    visit("duration_s", &T::duration);
    visit("samples", &T::samples);
    visit("first_samples", &T::first_samples);
    visit("batches", &T::batches);
    visit("first_batches", &T::first_batches);
    visit("warms_up", &T::warms_up);
    visit("batch_size", &T::batch_size);
    visit("header", &T::header);
    visit("bytes_per_value", &T::bytes_per_value);
    visit("bytes_per_key", &T::bytes_per_key);
    visit("bytes_per_listed_key", &T::bytes_per_listed_key);
    visit("filtered", &T::filtered);
    visit("sums", &T::sums);
    visit("caches_keys", &T::caches_keys);
    visit("plain_values", &T::plain_values);
    visit("copies_over_bus", &T::copies_over_bus);
    visit("serves", &T::serves);
    visit("servers_work", &T::servers_work);
    visit("sends_at_once", &T::sends_at_once);
    visit("disk", &T::disk);
    visit("stragglers", &T::stragglers);
    visit("tasks", &T::tasks);
    visit("fault_factors", &T::fault_factors);
  }
};

RunFacts facts_of(const Scenario& scenario);

// The rows of the table: a member's name, and its value as JSON.
std::vector<std::pair<std::string, std::string>> rows_of(const RunFacts& facts);
// Throws nlohmann::json::exception for an invalid value, and std::runtime_error for a missing name.
RunFacts facts_in(const std::vector<std::pair<std::string, std::string>>& rows);

}  // namespace psim
