// A node of the inference group: answers requests, one by one, with the weights that it pulled last. It reads
// the parameters that the workers train, and nobody waits for it.
//
// A server knows these nodes by their number, beyond the workers', and answers at once: no gate, no clock.
// Decisions:
// - A node is two actors on one host: one pulls in every period, the other answers. The weights that are
//   here when an answer begins are used for it; pulled ones come into use when all shards are here.
// - The next pull does not begin before the last is answered: on a slow network the period stretches to
//   that.
// - Requests wait only for the node. An overloaded group's latency grows until the run ends, which is when
//   the workers are through.
// - Predictions are real and take no part in the simulation: they go to the pool in batches of the same
//   weights.
// - Its messages never count as a sign of life: a run whose workers are stuck ends, however many requests
//   come.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/record/result.hpp"
#include "sim/roles/actors.hpp"
#include "sim/roles/job_context.hpp"
#include "sim/roles/kv_client.hpp"

namespace psim {

class InferenceNode {
 public:
  // `weights`: the initial model, with which the node begins; none for a phantom. `stats` are the group's.
  InferenceNode(JobContext& job, std::uint32_t index, const std::shared_ptr<Values>& weights,
                InferenceStats& stats);

  NodeId id() const;
  // The bodies of its two actors; they never return.
  void run_pulls();
  void run_answers();

  // A message for this node has come in. Runs in the simulation kernel.
  void on_arrival(const Message& message);
  // The run is over: counts the requests that came until `end`, and what was predicted.
  void finish(double end);

 private:
  // A state of the model.
  struct Snapshot {
    std::int64_t version = 0;
    double from = 0;                         // when it left the servers
    std::shared_ptr<Assembly> weights = {};  // null for a phantom
  };

  double gap(std::int64_t request) const;  // seconds before it, since the one before
  void next_request();
  void answer(const Snapshot& used);
  const Dataset& samples() const;  // that requests bring
  void predict(const std::shared_ptr<Assembly>& weights);
  void flush();

  JobContext& job_;
  const InferenceSpec& spec_;
  std::uint32_t index_;
  KvClient kv_;
  InferenceStats& stats_;
  Snapshot here_;
  double oldest_ = 0;  // when the first part left its server, of the pull that is under way
  std::int64_t request_ = 0;
  double arrival_ = 0;  // of `request_`

  // Predictions change nothing, so they are made in batches, by the pool.
  std::shared_ptr<Assembly> batch_weights_;
  std::vector<std::uint32_t> batch_;  // samples, all for these weights
  std::deque<Pool::Handle> tasks_;
  std::deque<std::int64_t> hits_;  // of each task; a deque: tasks write while others are added
};

// All of them.
class InferenceGroup {
 public:
  // Starts their actors.
  InferenceGroup(JobContext& job, const std::shared_ptr<Values>& weights, Actors& actors);

  // A message for some node has come in.
  void on_arrival(const Message& message);
  // The run is over at `end`.
  InferenceStats finish(double end);

 private:
  void watch(std::int64_t turn);

  JobContext& job_;
  InferenceStats stats_;
  std::vector<std::unique_ptr<InferenceNode>> nodes_;
  std::vector<simgrid::s4u::ActorPtr> actors_;  // two of each node
};

}  // namespace psim
