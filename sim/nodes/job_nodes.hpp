// The servers and workers of one job, and what can be asked about all of them together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/nodes/job_context.hpp"
#include "sim/nodes/peers.hpp"
#include "sim/nodes/server_actor.hpp"
#include "sim/nodes/task_worker.hpp"
#include "sim/nodes/worker.hpp"

namespace psim {

class JobNodes {
 public:
  explicit JobNodes(JobContext& job) : job_(job) {}

  // With the model's first weights; none of a phantom model.
  void make(const std::shared_ptr<Values>& weights);
  // A node that crashed has nothing any more. A server is made again in all jobs.
  void make_again(NodeId node);

  ServerActor& server(NodeId node) const { return *servers_[node - job_.plan.first_server()]; }
  Worker& worker(NodeId node) const { return *workers_[worker_index(node)]; }
  const std::vector<std::unique_ptr<ServerActor>>& servers() const { return servers_; }
  // Null unless the scenario has tasks; then there are no other workers.
  TaskWorker* task_worker(NodeId node) const {
    return task_workers_.empty() ? nullptr : task_workers_[worker_index(node)].get();
  }
  // Null where there are servers.
  Peers* peers() const { return peers_.get(); }
  std::uint32_t worker_index(NodeId node) const { return node - job_.plan.first_worker(); }

  // The model in one part or more, as its owners have it; of a shard whose owner is down, as it last was.
  std::vector<Slice> weights() const;
  // Who waits for which server since when, for a run that can go on no more.
  std::vector<std::string> who_waits() const;
  std::vector<ServerRanges> server_ranges() const;
  std::int64_t last_batch_size(std::uint32_t index) const {
    if (peers_) return peers_->batch_size(index);
    if (workers_.empty()) return job_.plan.scenario.training.batch_size;  // tasks
    return workers_[index]->source().last_batch_size();
  }
  // By all the worker's lives.
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
  std::vector<std::int64_t> samples_before_;  // that workers computed before they crashed
  std::unique_ptr<Peers> peers_;              // instead of both, where there are no servers
};

}  // namespace psim
