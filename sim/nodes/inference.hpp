// A node of the inference group: answers requests, one by one, with the weights that it pulled last. It reads
// the parameters that the workers of one job train, and nobody waits for it.
//
// A server knows these nodes by their number, beyond the workers', and answers at once: no gate, no clock. It
// shows what it has, also an update that no replica has yet.
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
// Where nodes fail:
// - The node is no member. It tells the scheduler which view it knows, as heartbeats do, and is told newer
//   ones. So it learns who owns the shards, and sends pulls that are not answered to the new owners. While a
//   shard moves its old owner answers, until it no longer leads; then the pull waits for the next one.
// - A server may have been set back to an older version. Its answer is used as it is. Staleness counts from
//   the newest version that all servers have ever had, so it shows what the crash has undone.
// - Requests that come to a node that is down, and those that wait there when it crashes, are never answered.
//   A node that is back has lost its weights: it pulls at once, and requests wait for that.
// - When its job has ended and others go on, it goes on as well, with the last weights.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/nodes/actors.hpp"
#include "sim/nodes/client_actor.hpp"
#include "sim/nodes/job_context.hpp"
#include "sim/record/result.hpp"

namespace psim {

struct Dataset;

class InferenceNode {
 public:
  // `weights`: the initial model, with which the node first begins; none for a phantom. `stats` are the
  // group's.
  InferenceNode(JobContext& job, std::uint32_t index, const std::shared_ptr<Values>& weights,
                InferenceStats& stats);

  NodeId id() const;
  // The bodies of its two actors; they never return. The first calls `on_ready` once it has weights.
  void run_pulls(const std::function<void()>& on_ready);
  void run_answers();
  // It has crashed; it is there again.
  void crash();
  void restart();
  // The last view that it knows.
  std::int64_t view() const { return kv_->view(); }

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
  void pull();
  void next_request();
  void give_up_request();
  void answer(const Snapshot& used);
  const Dataset& samples() const;  // that requests bring
  void predict(const std::shared_ptr<Assembly>& weights);
  void flush();

  JobContext& job_;
  const InferenceSpec& spec_;
  std::uint32_t index_;
  std::unique_ptr<ClientActor> kv_;
  InferenceStats& stats_;
  std::optional<Snapshot> here_;  // none yet, of one that was down
  double up_since_ = 0;
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

  bool has(NodeId node) const { return node >= nodes_.front()->id() && node <= nodes_.back()->id(); }
  // A node begins anew; its actors are stopped, because it crashes.
  void start(NodeId node);
  void kill(NodeId node);
  // A message for some node has come in.
  void on_arrival(const Message& message);
  // The run is over at `end`.
  InferenceStats finish(double end);

 private:
  std::size_t index_of(NodeId node) const { return node - nodes_.front()->id(); }
  void spawn_pulls(std::size_t node, std::function<void()> on_ready);
  void spawn_answers(std::size_t node);
  void kill_actors(std::size_t i);
  void watch(std::int64_t turn);
  void begin_to_beat(NodeId node);
  void beat(NodeId node, std::uint32_t incarnation, double date);

  JobContext& job_;
  Actors& spawner_;
  InferenceStats stats_;
  std::vector<std::unique_ptr<InferenceNode>> nodes_;
  std::vector<std::array<simgrid::s4u::ActorPtr, 2>>
      actors_;  // by node: that which pulls, that which answers
  bool stopped_ = false;
};

}  // namespace psim
