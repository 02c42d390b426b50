// The nodes' actors: which actor runs on which node, and the effects of crashes and restarts. Each job has
// its own workers' actors; all jobs share the servers' and the scheduler's actors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/nodes/job/actors.hpp"
#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/peers/peers.hpp"
#include "sim/nodes/server/inference.hpp"
#include "sim/nodes/server/server_actor.hpp"
#include "sim/nodes/worker/worker.hpp"

namespace psim {

// The servers and workers of one job, and questions about all of them together.
class JobNodes {
 public:
  explicit JobNodes(JobContext& job) : job_(job) {}

  // Makes all nodes, with the model's first weights; null for a phantom model.
  void make(const std::shared_ptr<Values>& weights);
  // A crashed node has lost its data, so this makes it again. A caller makes a server again in every job.
  void make_again(NodeId node);

  ServerActor& server(NodeId node) const { return *servers_[node - job_.plan.first_server()]; }
  Worker& worker(NodeId node) const { return *workers_[worker_index(node)]; }
  const std::vector<std::unique_ptr<ServerActor>>& servers() const { return servers_; }
  // Null unless the scenario has tasks. With tasks there are no other workers.
  TaskWorker* task_worker(NodeId node) const {
    return task_workers_.empty() ? nullptr : task_workers_[worker_index(node)].get();
  }
  // Null where the job has servers.
  Peers* peers() const { return peers_.get(); }
  std::uint32_t worker_index(NodeId node) const { return node - job_.plan.first_worker(); }

  // The model in one or more parts, as the shards' owners have it. If the owner of a shard is down, the part
  // is the owner's last known weights.
  std::vector<Slice> weights() const;
  // Lines that say which node waits for which server and since when. They are for a run that can make no more
  // progress.
  std::vector<std::string> who_waits() const;
  std::vector<ServerRanges> server_ranges() const;
  std::int64_t last_batch_size(std::uint32_t index) const {
    if (peers_) return peers_->batch_size(index);
    if (workers_.empty()) return job_.plan.scenario.training.batch_size;  // a scenario with tasks
    return workers_[index]->source().last_batch_size();
  }
  // Includes the worker's computations before crashes.
  std::int64_t samples_computed(std::uint32_t index) const {
    if (peers_) return peers_->samples_computed(index);
    if (!task_workers_.empty()) return task_workers_[index]->samples_computed();
    return samples_before_[index] + workers_[index]->source().samples_computed();
  }

 private:
  std::string who_joins() const;
  std::string who_is_down() const;
  const KeySpace& keys() const { return job_.plan.keys_in(job_.state.layouts.newest()); }
  static const ShardServer* holder_in(const ServerShards& server, std::uint32_t shard, const Part& part);
  const ShardServer* owner_of(std::uint32_t shard) const;
  const ShardServer* best_of(std::uint32_t shard) const;

  JobContext& job_;
  std::vector<std::unique_ptr<ServerActor>> servers_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<TaskWorker>> task_workers_;
  std::vector<std::int64_t> samples_before_;  // samples that workers computed before they crashed
  std::unique_ptr<Peers> peers_;              // replaces servers and workers where the job has no servers
};

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
