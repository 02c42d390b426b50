// The result of a run.
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

// The cost of the nodes of a role.
struct RoleCost {
  double on_s = 0, busy_s = 0;  // summed over the nodes
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
  std::uint64_t weights = 0;  // a hash of the evaluated weights
};

// Requests and answers of the inference group.
struct InferenceStats {
  struct Answered {
    double arrival = 0, latency = 0;  // a date, and the seconds from it to the answer
    // When the answer was ready, for the weights used: seconds since they left the servers, and newer
    // versions that all servers had reached.
    double age = 0;
    std::int64_t staleness = 0;
  };
  std::int64_t requests = 0;            // that arrived
  std::vector<Answered> answers = {};   // in the order of requests, per node
  std::vector<double> unanswered = {};  // requests: dates of arrival
  std::int64_t samples = 0, hits = 0;   // predicted, and predicted correctly
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
  std::optional<std::int64_t> staleness = {};  // none: the common bound
};

// Messages between workers and aggregators, and their sums between aggregators and servers.
struct SumTraffic {
  std::uint64_t pushes = 0, push_bytes = 0, sums = 0, sum_bytes = 0;
  std::uint64_t answers = 0, answer_bytes = 0, copied = 0, copied_bytes = 0;
};

// Whether a [[fault]] of the scenario happened and had an effect.
struct FaultUse {
  bool happened = false;
  bool mattered = false;  // it met a message, or a node that it could change
};

// The training of one namespace.
struct TrainingResult {
  std::vector<CurvePoint> curve = {};     // first: initial weights; last: final weights; empty for phantom
  std::optional<CurvePoint> target = {};  // the first point that reached it and held it long enough
  std::optional<double> last_miss = {};   // the date of the point before the target
  DataPart judged_on = DataPart::test;    // the curve, and so the target
  std::optional<Evaluation> tested = {};  // the last weights over the test set, if the curve is over another
  std::int64_t parameters = 0;
  std::uint64_t weights = 0;                        // a hash of the last weights; 0 for a phantom model
  std::shared_ptr<const Values> last_weights = {};  // the whole model
};

// The training of one namespace, if there are several.
struct SpaceResult : TrainingResult {
  Scenario scenario;                // as if its workers ran alone
  std::vector<std::size_t> groups;  // of the run's scenario
};

// The executions of one [[task]].
struct TaskResult {
  std::int64_t times = 0;                    // how often it was done
  double seconds = 0;                        // from handing out to completion, summed
  std::vector<std::int64_t> by_worker = {};  // how often each worker did it; empty: servers do it
  std::optional<double> value = {};          // of a norm: the last value
  double mean() const { return times == 0 ? 0 : seconds / static_cast<double>(times); }
};

struct RunResult : TrainingResult {  // with groups: that of the first namespace
  RunStats stats;
  std::string digest = {};
  double sim_time = 0;  // seconds, when the last worker finished or the run was ended
  std::vector<ServerParameters> server_parameters = {};
  std::vector<ServerRanges> server_ranges = {};
  std::vector<ShardBound> shard_bounds = {};  // empty if all shards share one bound
  std::vector<std::uint64_t> keys_used = {};  // sparse models: over all steps, by worker
  double flops_per_sample = 0;
  std::vector<std::int64_t> samples_told = {};  // as each worker counts them, over all its lives
  std::vector<SpaceResult> spaces = {};         // empty without groups
  std::optional<FailureStats> failures = {};    // if nodes or messages may fail
  double slowest_heartbeat = 0;  // most seconds of a heartbeat to the scheduler; 0: none was sent
  std::optional<InferenceStats> inference = {};  // if there is an inference group
  std::vector<TaskResult> tasks = {};            // by table
  std::optional<Economy> economy = {};           // where power or prices are given
  std::optional<SumTraffic> sums = {};           // if there are aggregators
  std::vector<double> startup_s = {};            // by worker, then by server; empty if no node takes time
  std::vector<FaultUse> faults = {};             // by table
  bool copies_differ = false;                    // models of workers that have done all their steps differ
  bool final_differs = false;                    // the last point of a curve does not match the last weights
  bool ended_early = false;                      // the run ended although a worker still had steps to do
  bool scale_overflows = false;                  // the loss scale made a gradient too large for its precision
  bool sum_overflows = false;                    // a sum of an all-reduce is too large for its precision
  FiltersUsed filters_used = {};
  std::set<FilterKind> filters_overflowed = {};  // they made a finite value infinite
  std::vector<std::string> stuck = {};           // if nothing can happen any more: which node waits for what
};

// The same run without one of its faults, or without all of them.
struct WithoutFault {
  std::optional<std::int64_t> fault;  // the number of its [[fault]], from 0; none: all faults
  double sim_time = 0;                // seconds
  std::int64_t updates = 0;
};

}  // namespace psim
