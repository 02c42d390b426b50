// What a run's events are read by: the rule, the sizes, the speeds, as the simulator resolved them. Written
// to run.db (table `fact`), so that nobody reads the scenario a second time.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// One [[task]]: units of a clock, -1 where there is one for all; the worker that does it, -1 where that is
// not said.
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

// What a scenario promises; of one of several jobs, its own.
struct RunFacts {
  std::uint32_t servers = 0, workers = 0;
  bool has_servers = true;
  std::string model;                                      // of consistency, by what it does
  bool own_logic = false;                                 // the model is none of psim's
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
  std::optional<double> local_time;   // seconds: a clock has as many local steps as fit
  std::int64_t local_batch = 0;       // local_time: samples of one local step; 0: not known
  bool elastic = false;               // a push is sent before its clock's computation
  bool overlap = false;               // a clock begins when the weights of its first layers are here
  bool shares_out = false;            // the scheduler shares out the samples of a clock
  bool steals = false;                // workers compute samples of others
  double slow_factor = 0;             // a worker is slow by more than this; 0: nobody looks
  std::int64_t copies = 0, window = 0;
  bool every_push = false;         // is replicated, not every update
  bool at_least_once = false;      // a push that comes again may be applied again
  std::optional<double> duration;  // seconds
  // Samples of each of a worker's computations; none: they differ, or are not known.
  std::optional<std::int64_t> samples, first_samples;
  std::int64_t batches = 1, first_batches = 1;  // of a clock, and of a worker's first one
  bool warms_up = false;
  std::int64_t batch_size = 0;
  // Sizes of messages.
  std::uint64_t header = 0, bytes_per_value = 4, bytes_per_key = 0, bytes_per_listed_key = 4;
  bool filtered = false;
  bool sums = false;             // are what servers send
  std::string caches_keys = {};  // of what: push, pull, both; empty: of nothing
  bool plain_values = true;      // there is no filter but that of keys
  bool copies_over_bus = false;  // a worker's computing is in part copies between its devices
  bool serves = false;           // there are inference nodes that pull its parameters
  bool servers_work = false;     // an update takes time
  bool sends_at_once = true;     // no message waits for its turn
  double disk = 0;               // bytes per second
  std::vector<SlowWorkers> stragglers;
  std::vector<TaskFact> tasks;        // by [[task]]
  std::vector<double> fault_factors;  // by [[fault]]: what is left of the speed or the bandwidth

  template <class Visit>
  static void members(Visit&& visit) {
    using T = RunFacts;
    visit("servers", &T::servers);
    visit("workers", &T::workers);
    visit("has_servers", &T::has_servers);
    visit("model", &T::model);
    visit("own_logic", &T::own_logic);
    visit("staleness", &T::staleness);
    visit("schedule", &T::schedule);
    visit("group", &T::group);
    visit("promises", &T::promises);
    visit("start_rule", &T::start_rule);
    visit("update_rule", &T::update_rule);
    visit("steps", &T::steps);
    visit("longest_retry_s", &T::longest_retry);
    visit("pull_every", &T::pull_every);
    visit("closing_window_s", &T::closing_window);
    visit("closing_deadline_s", &T::closing_deadline);
    visit("limit", &T::limit);
    visit("drops_too_stale", &T::drops_too_stale);
    visit("cache", &T::cache);
    visit("local_time_s", &T::local_time);
    visit("local_batch", &T::local_batch);
    visit("elastic", &T::elastic);
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

// One row of the table: a member's name, and its value as JSON.
std::vector<std::pair<std::string, std::string>> rows_of(const RunFacts& facts);
// Throws nlohmann::json::exception for a value that is none, and std::runtime_error for a name that is
// missing.
RunFacts facts_in(const std::vector<std::pair<std::string, std::string>>& rows);

}  // namespace psim
