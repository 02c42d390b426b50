// The servers and workers of one job, and questions about all of them together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/peers/peers.hpp"
#include "sim/nodes/server/server_actor.hpp"
#include "sim/nodes/worker/worker.hpp"

namespace psim {

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

}  // namespace psim
