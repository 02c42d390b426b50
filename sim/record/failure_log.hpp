// The cost of failures: right and false suspicions, repeated requests, bytes of copies, and for each crash of
// a server how long its shards took to recover.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sim/record/event.hpp"

namespace psim {

// The load of the servers before and after shards move: values pushed to each server and pulled from it.

// A view that sent shards to other servers.
struct Rebalancing {
  double at = 0;  // date
  std::int64_t view = 0;
  std::int64_t shards = 0, cuts = 0, values = 0;  // moved shards; cut shards; values of the moved shards
  // By server, values per second: since the last such view, and until the next one or the end.
  std::vector<double> before = {}, after = {};
  struct Load {
    std::size_t server = 0;
    double before = 0, after = 0;
  };
  std::vector<Load> loads() const {
    std::vector<Load> all;
    for (std::size_t s = 0; s < before.size(); ++s) all.push_back({s, before[s], after[s]});
    return all;
  }
};

class LoadLog {
 public:
  explicit LoadLog(std::size_t servers) : values_(servers) {}
  void on(double at, const Sent& message);
  void on(double at, const ShardCut& cut);
  void on(double at, const ShardMove& move);
  void close(double at);  // the run is over
  const std::vector<Rebalancing>& all() const { return all_; }

 private:
  Rebalancing& of_view(double at, std::int64_t view);
  std::vector<double> take_rates(double at);

  double since_ = 0;
  std::vector<std::uint64_t> values_;  // by server, since that date
  std::vector<Rebalancing> all_;
};

// From a server's crash until its shards have reached their versions at the crash again. Without servers:
// from a worker's crash until the update is made that was in progress.
struct Recovery {
  NodeId node = 0;
  double crash = 0;  // date
  bool is_worker = false;
  std::optional<double> reformed =
      {};  // of a worker: the next group, which knows of the crash, begins its first step
  // Dates; none: not reached. The scheduler announces the first view that knows of the crash; the new owners
  // begin to fetch the shards, or have them already; they own the shards; all shards have their versions
  // again.
  std::optional<double> detected = {}, fetching = {}, owned = {}, caught_up = {};
  // The shards may be moving to another server before the crash is known.
  std::optional<double> asked() const {
    return fetching && detected ? std::max(*fetching, *detected) : fetching;
  }
};

// A worker that the scheduler has found slow.
struct FoundSlow {
  double at = 0;
  SlowWorker what;
};

struct FailureStats {
  std::int64_t crashes = 0, suspicions = 0, false_suspicions = 0, views = 0, takeovers = 0, snapshots = 0;
  std::int64_t repeated = 0;            // requests
  std::uint64_t replication_bytes = 0;  // entries of logs to replicas
  std::uint64_t state_bytes = 0;        // whole shards: to replicas, new owners and the storage
  std::uint64_t heartbeat_bytes = 0;
  std::vector<Recovery> recoveries = {};
  std::vector<FoundSlow> slow = {};
  std::vector<Rebalancing> rebalances = {};  // if ranges or loads decide which shards move
};

class FailureLog {
 public:
  // `shard_server`: the first server of each shard.
  // `last_peer`: without servers, the last worker; 0: there are servers.
  FailureLog(const std::vector<std::uint32_t>& shard_server, NodeId last_server, NodeId last_peer);
  void on(const Event& event);
  // The job of these shards has ended.
  void forget(std::uint32_t first_shard, std::uint32_t shards);
  void close(double at);  // the run is over
  const FailureStats& stats() const { return stats_; }

 private:
  // A recovery that is not over, and the state of its shards at the crash.
  struct Open {
    std::size_t recovery;
    std::map<std::uint32_t, std::int64_t> behind;  // by shard: version at the crash
    std::set<std::uint32_t> orphans;               // shards without an owner
  };
  bool is_unnoticed(NodeId node) const;
  void on_send(double at, const Sent& message);
  void on_receipt(const Received& message);
  void on_suspicion(NodeId node);
  void on_view(double at);
  void on_start(double at);
  void on_promotion(const Event& event, const Promotion& promotion);
  void on_fault(double at, const FaultChange& fault);
  void on_crash(double at, NodeId node);
  void on_cut(const ShardCut& cut);
  void look_at_recoveries(double at, std::uint32_t shard);
  void on_regroup();
  void on_begin(double at);
  void on_copy(double at, std::int64_t version);
  NodeId last_watched() const { return std::max(last_server_, last_peer_); }

  NodeId last_server_, last_peer_;
  std::vector<NodeId> owner_;                  // by shard
  std::vector<std::int64_t> epoch_, version_;  // by shard: the last owner's epoch; the weights' version
  std::set<NodeId> down_;
  // Servers that the scheduler's next view announces as failed; servers of these that are already back;
  // servers that an earlier view announced as failed.
  std::set<NodeId> noticed_, back_, announced_;
  std::vector<Open> open_;
  // Without servers: unfinished recoveries of workers, with the version of the newest copy at the crash.
  struct Regrouping {
    std::size_t recovery;
    std::int64_t version;
    bool has_agreed = false;  // a group that knows of the crash exists
  };
  std::vector<Regrouping> regroupings_;
  std::int64_t newest_copy_ = 0, participants_ = 0;  // participants of the newest view
  std::set<NodeId> through_;
  LoadLog loads_;
  FailureStats stats_;
};

}  // namespace psim
