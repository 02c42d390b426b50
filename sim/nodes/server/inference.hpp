// A node of the inference group. It answers requests, one after the other, with the weights that it pulled
// last. It reads the parameters that the workers of one job train. No other node waits for it.
//
// A server recognises these nodes by their numbers, which lie beyond the workers' numbers, and answers at
// once: they have no gate and no clock. A server also shows an update that no replica has yet. Decisions:
// - A node is two actors on one host. One actor pulls in every period, the other answers. An answer uses the
//   weights that the node has when the answer begins. Pulled weights come into use when all shards have
//   arrived.
// - The next pull begins only after the answer to the last one. So on a slow network the period becomes
//   longer.
// - Requests wait only for the node. The latency of an overloaded group grows until the run ends, which is
//   when the workers have finished.
// - Predictions are real and take no part in the simulation. The pool computes them in batches of the same
//   weights.
// - Messages of this group do not count as progress: a run with stuck workers ends, whatever the number of
//   requests.
//
// Where nodes fail:
// - The node is not a member. Its heartbeats tell the scheduler which view it knows, and the scheduler sends
//   newer views. So it learns who owns the shards, and sends unanswered pulls to the new owners. While a
//   shard moves, its old owner answers until it no longer leads. Then the pull waits for the next owner.
// - A crash may set a server back to an older version. The node uses its answer unchanged. Staleness counts
//   from the newest version that all servers have ever had, so it shows the updates that the crash has
//   undone.
// - The node never answers requests that come while it is down, or that wait when it crashes. A node that is
//   back has lost its weights. It pulls at once, and requests wait for this pull.
// - When its job has ended and other jobs continue, the node also continues, with the last weights.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/nodes/job/actors.hpp"
#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/worker/client_actor.hpp"
#include "sim/record/result.hpp"

namespace psim {

struct Dataset;

class InferenceNode {
 public:
  // `weights`: the initial model, with which the node first begins; none for a phantom model. `stats` belong
  // to the group.
  InferenceNode(JobContext& job, std::uint32_t index, const std::shared_ptr<Values>& weights,
                InferenceStats& stats);

  NodeId id() const;
  // The bodies of its two actors; they never return. The first body calls `on_ready` when it has weights.
  void run_pulls(const std::function<void()>& on_ready);
  void run_answers();
  // The node has crashed, or is there again.
  void crash();
  void restart();
  // The newest view that the node knows.
  std::int64_t view() const { return kv_->view(); }

  // A message for this node has arrived. Runs in the simulation kernel.
  void on_arrival(const Message& message);
  // The run is over. Counts the requests until `end` and the correct predictions.
  void finish(double end);

 private:
  // A state of the model.
  struct Snapshot {
    std::int64_t version = 0;
    double from = 0;                         // when it left the servers
    std::shared_ptr<Assembly> weights = {};  // null for a phantom model
  };

  double gap(std::int64_t request) const;  // seconds between this request and the one before
  void pull();
  void next_request();
  void give_up_request();
  void answer(const Snapshot& used);
  const Dataset& samples() const;  // samples of the requests
  void predict(const std::shared_ptr<Assembly>& weights);
  void flush();

  JobContext& job_;
  const InferenceSpec& spec_;
  std::uint32_t index_;
  std::unique_ptr<ClientActor> kv_;
  InferenceStats& stats_;
  std::optional<Snapshot> here_;  // empty after a crash until the first pull
  double up_since_ = 0;
  std::int64_t request_ = 0;
  double arrival_ = 0;  // date of `request_`

  // Predictions do not change the run, so the pool computes them in batches.
  std::shared_ptr<Assembly> batch_weights_;
  std::vector<std::uint32_t> batch_;  // samples; all use these weights
  std::deque<Pool::Handle> tasks_;
  std::deque<std::int64_t> hits_;  // of each task; a deque: tasks write to elements while others are added
};

// All nodes of the group.
class InferenceGroup {
 public:
  // Starts the actors of all nodes.
  InferenceGroup(JobContext& job, const std::shared_ptr<Values>& weights, Actors& actors);

  bool has(NodeId node) const { return node >= nodes_.front()->id() && node <= nodes_.back()->id(); }
  // A node begins anew, or crashes, which stops its actors.
  void start(NodeId node);
  void kill(NodeId node);
  // A message for one of the nodes has arrived.
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
      actors_;  // by node: the actor that pulls, the actor that answers
  bool stopped_ = false;
};

}  // namespace psim
