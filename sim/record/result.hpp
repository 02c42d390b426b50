// What a run came to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/data_spec.hpp"
#include "model/model_spec.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/record/recorder.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// What the nodes of a role came to.
struct RoleCost {
  double on_s = 0, busy_s = 0;  // of all of them together
  double joules = 0, dollars = 0;
};
struct Economy {
  RoleCost workers, servers;
  double network_joules = 0;
  double joules() const { return workers.joules + servers.joules + network_joules; }
  double dollars() const { return workers.dollars + servers.dollars; }
};

struct CurvePoint {
  double at = 0;  // simulated seconds
  std::int64_t updates = 0;
  double epoch = 0;                     // gradients computed, in passes over the training set
  std::uint64_t bytes = 0;              // sent so far
  std::optional<Economy> economy = {};  // so far, where power or prices are given
  Evaluation result;
  std::uint64_t weights = 0;  // a hash of those that were evaluated
};

// What the inference group did.
struct InferenceStats {
  struct Answered {
    double arrival = 0, latency = 0;  // a date, and the seconds from it to the answer
    // Of the weights used, when the answer was ready: seconds since they left the servers, and versions that
    // all servers had had beyond them.
    double age = 0;
    std::int64_t staleness = 0;
  };
  std::int64_t requests = 0;            // that came
  std::vector<Answered> answers = {};   // of one node in the order of their requests
  std::vector<double> unanswered = {};  // requests: dates of arrival
  std::int64_t samples = 0, hits = 0;   // predicted, and those that were given their class
  std::int64_t pulls = 0;
  std::uint64_t bytes_pulled = 0;
};

// Weights that a server holds.
struct ServerParameters {
  std::size_t at_first = 0, at_end = 0;
};

// Ranges of keys with a vector clock of their own, on one server.
struct ServerRanges {
  std::size_t now = 0, split_off = 0;
};

// A shard of a job whose layers have bounds of their own.
struct ShardBound {
  std::uint32_t shard = 0, layer = 0;
  std::optional<std::int64_t> staleness = {};  // none: the one that is for all
};

// Messages between workers and aggregators, and what became of them between aggregators and servers.
struct SumTraffic {
  std::uint64_t pushes = 0, push_bytes = 0, sums = 0, sum_bytes = 0;
  std::uint64_t answers = 0, answer_bytes = 0, copied = 0, copied_bytes = 0;
};

// What became of a [[fault]] of the scenario.
struct FaultUse {
  bool happened = false;
  bool mattered = false;  // it met a message, or a node it could change
};

// The training of one namespace, where there are several.
struct SpaceResult {
  Scenario scenario;                     // as if its workers were alone
  std::vector<std::size_t> groups = {};  // of the run's scenario
  std::vector<CurvePoint> curve = {};
  std::optional<CurvePoint> target = {};
  std::optional<double> last_miss = {};
  DataPart judged_on = DataPart::test;    // the curve, and so the target
  std::optional<Evaluation> tested = {};  // the last weights over the test set, if the curve is over another
  std::int64_t parameters = 0;
  std::uint64_t weights = 0;  // a hash of the last ones
};

// What became of one [[task]].
struct TaskResult {
  std::int64_t times = 0;                    // that it was done
  double seconds = 0;                        // from being given out to being done, in all
  std::vector<std::int64_t> by_worker = {};  // times; empty: servers do it
  std::optional<double> value = {};          // norm: the last one
};

struct RunResult {
  RunStats stats;
  std::string digest = {};
  double sim_time = 0;                    // seconds, when the last worker finished or the run was ended
  std::vector<CurvePoint> curve = {};     // first: initial weights; last: final weights; empty for phantom
  std::optional<CurvePoint> target = {};  // the first point that reached it, and held it as long as asked for
  std::optional<double> last_miss = {};   // the date of the point before that one
  DataPart judged_on = DataPart::test;    // the curve, and so the target
  std::optional<Evaluation> tested = {};  // the last weights over the test set, if the curve is over another
  std::int64_t parameters = 0;
  std::vector<ServerParameters> server_parameters = {};
  std::vector<ServerRanges> server_ranges = {};
  std::vector<ShardBound> shard_bounds = {};  // none where one bound is for all
  std::vector<std::uint64_t> keys_used = {};  // sparse models: over all steps, by worker
  double flops_per_sample = 0;
  std::vector<std::int64_t> samples_told = {};  // by each worker itself, in all its lives
  std::uint64_t weights = 0;                    // a hash of the last ones; none of a phantom model
  std::vector<SpaceResult> spaces = {};       // none without groups; all above but `stats` is the first one's
  std::optional<FailureStats> failures = {};  // where nodes or messages may fail
  double slowest_heartbeat = 0;  // seconds that one takes to the scheduler at most; 0: none was sent
  std::optional<InferenceStats> inference = {};  // where there is such a group
  std::vector<TaskResult> tasks = {};            // by table
  std::optional<Economy> economy = {};           // where power or prices are given
  std::optional<SumTraffic> sums = {};           // where there are aggregators
  std::vector<double> startup_s = {};            // by worker, then by server; empty where nobody takes time
  std::vector<FaultUse> faults = {};             // by table
  bool copies_differ = false;                    // of the model, of workers that have done all their steps
  bool final_differs = false;    // from what the last weights come to: the last point of a curve
  bool ended_early = false;      // as if all were through, while a worker still had steps to do
  bool scale_overflows = false;  // a gradient was too large for its precision only because of the loss scale
  FiltersUsed filters_used = {};
  std::vector<std::string> stuck = {};  // when nothing could happen any more: who waits for what
};

}  // namespace psim
