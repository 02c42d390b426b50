// The nodes' actors: which actor runs on which node, and the effects of crashes and restarts. Each job has
// its own workers' actors; all jobs share the servers' and the scheduler's actors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/nodes/job/actors.hpp"
#include "sim/nodes/job/job_nodes.hpp"
#include "sim/nodes/server/inference.hpp"

namespace psim {

// The heartbeats of a job's servers and workers, where nodes may fail.
class Heartbeats {
 public:
  // `restart`: starts a finished node again; called from the agenda.
  Heartbeats(JobContext& job, const JobNodes& nodes, std::function<void(NodeId)> restart)
      : job_(job), nodes_(nodes), restart_(std::move(restart)) {}

  // Sends heartbeats during this incarnation of the node.
  void begin(NodeId node);
  // Sends one heartbeat at once. Returns false if an earlier heartbeat is still on its way.
  bool send(NodeId node);

 private:
  void beat(NodeId node, std::uint32_t incarnation, double date, int in_vain);

  JobContext& job_;
  const JobNodes& nodes_;
  std::function<void(NodeId)> restart_;
};

class NodeActors {
 public:
  NodeActors(JobContext& job, const Platform& platform);
  NodeActors(const NodeActors&) = delete;
  NodeActors& operator=(const NodeActors&) = delete;

  // Starts all nodes, with the model's first weights; none for a phantom model. The first of `jobs` starts
  // scheduler, servers and database for all jobs. The others start only their workers. The job that is served
  // also starts the inference group.
  void start(const std::shared_ptr<Values>& weights, const std::vector<JobContext*>& jobs);
  // Servers are the same nodes in all jobs. Each server has one actor, which belongs to this job.
  void act_for(NodeActors& other);
  // A message has arrived. Runs in the simulation kernel.
  void on_arrival(const Message& message);

  // Call these from the agenda, never from an actor. They return whether they changed anything. A node that
  // is down cannot crash, and a node that is up cannot restart.
  bool crash(NodeId node);
  bool restart(NodeId node);
  // The snapshots on the storage node's disk are lost. Other nodes have no disk.
  bool lose_disk(NodeId node);
  // An absent worker begins to start, and joins when it is up. If several calls start the same node, only the
  // first one counts.
  void start_spare(NodeId node);
  // The node announces that it leaves, and hands over its data.
  bool leave(NodeId node);

  // This job has ended, while others go on. Call it from the agenda.
  void end(double date);
  // The run is over: discards pushes that no server will apply.
  void discard(const Message& message);
  void discard_rest();
  // Whether the node is one of the job's workers or inference nodes.
  bool has(NodeId node) const { return job_.plan.is_worker(node) || (inference_ && inference_->has(node)); }
  // The results of the inference group; none without a group.
  std::optional<InferenceStats> finish_inference(double end);

  const JobNodes& nodes() const { return nodes_; }
  // Throws the exception of an actor, if there was one.
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
  std::vector<JobContext*> jobs_;         // of the run
  std::vector<NodeActors*> parts_{this};  // this, and the jobs whose servers' actors are here
  std::vector<simgrid::s4u::ActorPtr>
      by_node_;                                // actors of servers, workers, scheduler, database and storage
  std::unique_ptr<InferenceGroup> inference_;  // null without a group
};

}  // namespace psim
