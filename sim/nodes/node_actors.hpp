// The nodes' actors: who runs where, and what becomes of a node that crashes and comes back. Each job has its
// own; servers and the scheduler are those of all.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/nodes/actors.hpp"
#include "sim/nodes/heartbeats.hpp"
#include "sim/nodes/inference.hpp"
#include "sim/nodes/job_nodes.hpp"

namespace psim {

class NodeActors {
 public:
  NodeActors(JobContext& job, const Platform& platform);
  NodeActors(const NodeActors&) = delete;
  NodeActors& operator=(const NodeActors&) = delete;

  // Everybody, with the model's first weights; none of a phantom model. The first of `jobs` has scheduler,
  // servers and database started for all of them, the others only their workers; the one that is served has
  // the inference group.
  void start(const std::shared_ptr<Values>& weights, const std::vector<JobContext*>& jobs);
  // Servers are the same nodes in all jobs, and each has one actor: that of this job.
  void act_for(NodeActors& other);
  // A message has come in. Runs in the simulation kernel.
  void on_arrival(const Message& message);

  // From the agenda, never from an actor; whether it changed anything. A node that is down cannot crash, nor
  // one that is up come back.
  bool crash(NodeId node);
  bool restart(NodeId node);
  // What the storage has written is gone; others write nothing.
  bool lose_disk(NodeId node);
  // An absent worker begins to start, and joins when it is up. Of several that start a node only the first
  // does.
  void start_spare(NodeId node);
  // It says that it goes, and hands over what it has.
  bool leave(NodeId node);

  // This job has ended, while others go on. From the agenda.
  void end(double date);
  // The run is over: pushes that nobody will apply.
  void discard(const Message& message);
  void discard_rest();
  // Whether its workers or inference nodes have this one among them.
  bool has(NodeId node) const { return job_.plan.is_worker(node) || (inference_ && inference_->has(node)); }
  // What the inference group has served, if there is one.
  std::optional<InferenceStats> finish_inference(double end);

  const JobNodes& nodes() const { return nodes_; }
  // What an actor threw, if one did.
  void rethrow() const { actors_.rethrow(); }

 private:
  void start_node(NodeId node);
  void start_first(NodeId node);
  double startup_of(NodeId node) const;
  void kill(NodeId node);
  void lose(NodeId node);
  void run(NodeId node);
  bool has_left(NodeId node) const;
  bool is_leaving(NodeId node) const;

  JobContext& job_;
  Actors actors_;
  JobNodes nodes_;
  Heartbeats heartbeats_;
  std::vector<JobContext*> jobs_;         // all
  std::vector<NodeActors*> parts_{this};  // whose servers are those of this one
  std::vector<simgrid::s4u::ActorPtr>
      by_node_;                                // actors of servers, workers, scheduler, database and storage
  std::unique_ptr<InferenceGroup> inference_;  // where there is one
};

}  // namespace psim
