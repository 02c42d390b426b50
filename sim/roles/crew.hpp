// The nodes' actors: who runs where, and what becomes of a node that crashes and comes back. Each namespace
// has a crew; its servers and the scheduler are those of all.
#pragma once

#include <simgrid/s4u/Actor.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/roles/inference.hpp"
#include "sim/roles/job_context.hpp"
#include "sim/roles/peers.hpp"
#include "sim/roles/server_role.hpp"
#include "sim/roles/worker.hpp"

namespace psim {

class Crew {
 public:
  Crew(JobContext& job, const Platform& platform) : job_(job), platform_(platform) {}

  // Everybody, with the model's first weights; none of a phantom model. The first of `jobs` has scheduler
  // and servers started for all of them, the others only their workers.
  void start(const std::shared_ptr<Values>& weights, const std::vector<JobContext*>& jobs);
  // Servers are the same nodes in all namespaces, and each has one actor: this crew's.
  void act_for(Crew& other);
  // A message has come in. Runs in the simulation kernel.
  void on_arrival(const Message& message);

  // From the agenda, never from an actor; whether it changed anything. A node that is down cannot crash, nor
  // one that is up come back.
  bool crash(NodeId node);
  bool restart(NodeId node);
  // What the storage has written is gone; others write nothing.
  bool lose_disk(NodeId node);
  // It says that it goes, and hands over what it has.
  bool leave(NodeId node);

  // The model in one part or more, as its owners have it; of a shard whose owner is down, as it last was.
  std::vector<Slice> weights() const;
  // Who waits for which server since when, for a run that can go on no more.
  std::vector<std::string> who_waits() const;
  // This namespace's training has ended, while that of others goes on. From the agenda.
  void end();
  // The run is over: pushes that nobody will apply.
  void discard(const Message& message);
  void discard_rest();
  std::vector<ServerRanges> server_ranges() const;
  // Null where there are no servers.
  const Worker* worker(std::uint32_t index) const {
    return workers_.empty() ? nullptr : workers_[index].get();
  }
  // By all the worker's lives.
  std::int64_t samples_computed(std::uint32_t worker) const {
    return samples_before_[worker] + workers_[worker]->source().samples_computed();
  }
  // What the inference group has served, if there is one.
  std::optional<InferenceStats> finish_inference(double end);
  // What an actor threw.
  const std::exception_ptr& failure() const { return failure_; }

 private:
  simgrid::s4u::ActorPtr spawn(const std::string& name, NodeId node, bool daemon, std::function<void()> body);
  void start_inference(const std::shared_ptr<Values>& weights);
  void watch_inference(std::int64_t turn);
  void start_node(NodeId node);
  void beat(NodeId node, std::uint32_t incarnation, double date, int in_vain = 0);
  bool send_heartbeat(NodeId node);  // false when one is on its way
  bool has_left(NodeId node) const;
  bool is_leaving(NodeId node) const;
  const ShardServer* owner_of(std::uint32_t shard) const;
  const ShardServer* best_of(std::uint32_t shard) const;
  bool is_server(NodeId node) const { return node > scheduler_node && node < job_.plan.first_worker(); }
  bool is_worker(NodeId node) const {
    return node >= job_.plan.first_worker() && node < job_.plan.database();
  }
  std::uint32_t server_index(NodeId node) const { return node - job_.plan.first_server(); }
  std::uint32_t worker_index(NodeId node) const { return node - job_.plan.first_worker(); }

  JobContext& job_;
  const Platform& platform_;
  std::vector<JobContext*> jobs_;               // all
  std::vector<simgrid::s4u::ActorPtr> actors_;  // by node
  std::vector<std::unique_ptr<ServerRole>> servers_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::int64_t> samples_before_;     // that workers computed before they crashed
  std::unique_ptr<Peers> peers_;                 // instead of servers and workers, where there are no servers
  std::unique_ptr<InferenceGroup> inference_;    // where there is one
  std::vector<simgrid::s4u::ActorPtr> serving_;  // two of each of its nodes
  std::exception_ptr failure_;
};

}  // namespace psim
