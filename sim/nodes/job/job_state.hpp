// The changing state of a job that belongs to no single node. Each part has its own class.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/values.hpp"
#include "sim/nodes/job/corrupt_pushes.hpp"
#include "sim/nodes/job/job_plan.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/protocol/ids.hpp"
#include "sim/protocol/key_space.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/scheduler/membership.hpp"

namespace psim {

// The shards of a run. They change when the scheduler cuts some of them.
class Layouts {
 public:
  // The layout of the scheduler's last view; null: that of the plan.
  const Layout* newest() const { return newest_.get(); }
  // Returns whether the view has another layout.
  bool take(const View& view) {
    if (view.layout == newest_) return false;
    if (newest_) before_.push_back(newest_);
    newest_ = view.layout;
    return true;
  }

 private:
  std::shared_ptr<const Layout> newest_;
  std::vector<std::shared_ptr<const Layout>> before_;  // weights on their way may still use them
};

// Counts of a job that are not in its record.
class JobTotals {
 public:
  explicit JobTotals(std::uint32_t workers) : keys_used_(workers) {}

  // Sparse models: keys that one step of the worker uses.
  void use_keys(std::uint32_t worker, std::size_t keys) { keys_used_[worker] += keys; }
  std::uint64_t keys_used(std::uint32_t worker) const { return keys_used_[worker]; }

  // A gradient does not fit its precision; see RunResult. Threads call this.
  void overflow() { scale_overflows_ = true; }
  bool scale_overflows() const { return scale_overflows_; }

  // A sum of gradients does not fit the precision in which all-reduce sends it.
  void overflow_of_sum() { sum_overflows_ = true; }
  bool sum_overflows() const { return sum_overflows_; }

  // All shards have reached this version.
  void reach(std::int64_t version) { most_updates_ = std::max(most_updates_, version); }
  // The newest version that all shards have had, before any shard was set back.
  std::int64_t most_updates() const { return most_updates_; }

 private:
  std::vector<std::uint64_t> keys_used_;
  std::atomic<bool> scale_overflows_ = false;
  bool sum_overflows_ = false;
  std::int64_t most_updates_ = 0;
};

// The weights that the last owner of each shard had when it went down or gave up the shard.
class LastWeights {
 public:
  explicit LastWeights(std::size_t shards) : shards_(shards) {}

  // An owner had these weights of `part`. Every shard of `keys` that lies in `part` keeps its share of them,
  // unless an owner of a later epoch had other weights.
  void keep(const KeySpace& keys, const Part& part, std::uint32_t epoch, const Slice& weights);
  // The shard keeps its first values, and the new last shard gets the others.
  void cut(const Cut& cut);

  std::size_t shards() const { return shards_.size(); }
  const Slice& of(std::uint32_t shard) const { return shards_[shard].weights; }
  std::uint32_t epoch(std::uint32_t shard) const { return shards_[shard].epoch; }

 private:
  struct Last {
    std::uint32_t epoch = 0;
    Slice weights = {};
  };
  std::vector<Last> shards_;
};

// How long each node has been on, and how long it has computed or copied. Energy and money follow from these
// times.
class NodeUsage {
 public:
  explicit NodeUsage(std::size_t nodes) : nodes_(nodes) {}

  // A node is on from the beginning of its start until it leaves for good or the run ends, even while it is
  // down.
  void turn_on(NodeId node, double now) { nodes_[node].on.begin(now); }
  void turn_off(NodeId node, double now) { nodes_[node].on.end(now); }
  // A computation begins (`change` = 1) or ends (-1).
  void computes(NodeId node, int change, double now) {
    Node& one = nodes_[node];
    if (one.computations == 0 && change > 0) one.busy.begin(now);
    one.computations += change;
    if (one.computations == 0) one.busy.end(now);
  }

  // Seconds until `date`, which is not earlier than the last change.
  double on_seconds(NodeId node, double date) const { return nodes_[node].on.until(date); }
  double busy_seconds(NodeId node, double date) const { return nodes_[node].busy.until(date); }
  // The date since when the node has computed; none: it does not compute.
  std::optional<double> busy_since(NodeId node) const {
    return computations(node) > 0 ? std::optional(nodes_[node].busy.since) : std::nullopt;
  }
  int computations(NodeId node) const { return nodes_[node].computations; }
  std::size_t nodes() const { return nodes_.size(); }

 private:
  // Counts the seconds during which a state holds.
  struct Span {
    double before = 0, since = -1;  // negative: the state does not hold now
    void begin(double now) {
      if (since < 0) since = now;
    }
    void end(double now) {
      if (since >= 0) before += now - since;
      since = -1;
    }
    double until(double date) const { return before + (since >= 0 && date > since ? date - since : 0); }
  };
  struct Node {
    Span on, busy;
    int computations = 0;
  };
  std::vector<Node> nodes_;
};

// The contents of the storage node's disk. They survive a crash of the node.
struct StoredState {
  std::uint32_t epoch = 0;
  State state = {};
};

// The last snapshot that each shard's owner has sent. A snapshot from before a cut has the values of both
// parts. Its reader takes the values that it needs.
class ShardSnapshots {
 public:
  // Null if there is no snapshot.
  const StoredState* find(std::uint32_t shard) const;
  // Keeps the snapshot, unless an owner of a later epoch has sent another.
  void keep(std::uint32_t shard, const StoredState& snapshot);
  // The upper part of a cut shard gets the snapshot of the whole.
  void cut(std::uint32_t shard, std::uint32_t upper);
  // Returns whether there was any snapshot.
  bool lose() { return !std::exchange(snapshots_, {}).empty(); }

 private:
  std::map<std::uint32_t, StoredState> snapshots_;
};

// Without servers: copies of the workers' parts of the model. All workers of a group go back together, to one
// version.
class CopySnapshots {
 public:
  explicit CopySnapshots(std::size_t parts) : parts_(parts) {}

  // The group with this view number asks for its snapshots. From now on it reads the newest complete version.
  void go_back(std::uint32_t group);
  // That version of a part; null: there is none.
  const StoredState* find(std::uint32_t part) const;
  // Keeps a copy. Forgets versions older than the newest complete one, except a version that a group may be
  // reading.
  void keep(std::uint32_t part, const StoredState& copy);
  bool lose() { return !std::exchange(copies_, {}).empty(); }

 private:
  // The newest version with all its parts; -1: none.
  std::int64_t newest() const;

  std::size_t parts_;
  std::map<std::uint32_t, std::map<std::int64_t, StoredState>> copies_;  // by part and version
  std::uint32_t group_ = 0;
  std::optional<std::int64_t> used_;  // the version that it reads; none: no group has asked
};

struct StorageDisk {
  ShardSnapshots shards = {};
  CopySnapshots copies;

  // Returns whether the disk held anything.
  bool lose() {
    const bool had_copies = copies.lose();
    return shards.lose() || had_copies;
  }
};

// The use of each task of a program.
struct TaskUse {
  std::int64_t times = 0;                    // how often it was done
  double seconds = 0;                        // total time from giving it out to its end
  std::vector<std::int64_t> by_worker = {};  // how often each worker did it
  double value = 0;                          // the last value that it reported
};

class TaskUses {
 public:
  TaskUses(std::size_t tasks, std::uint32_t workers)
      : uses_(tasks, TaskUse{.by_worker = std::vector<std::int64_t>(workers)}) {}

  TaskUse& operator[](std::size_t task) { return uses_[task]; }
  const std::vector<TaskUse>& all() const { return uses_; }

 private:
  std::vector<TaskUse> uses_;
};

// Records a scheduler's views: the places of the shards, and the moves and cuts since the view before.
struct JobContext;

class ViewRecorder {
 public:
  // `jobs`: all jobs of the run.
  void record(const std::vector<JobContext*>& jobs, const View& view, const ShardLoads& loads);

 private:
  void record_changes(const std::vector<JobContext*>& jobs, const View& view, const ShardLoads& loads);

  // By shard: its owner, or its next owner, in the last recorded view. A scheduler that comes back may not
  // know that view. Then this still shows how its first view differs from that view.
  std::vector<NodeId> goals_;
};

// One assembled copy of the weights for all workers that pulled the same version.
class AssemblyCache {
 public:
  std::shared_ptr<Assembly> of(std::vector<Slice> parts, const Assembly::Places* places) {
    std::shared_ptr<Assembly> last = last_.lock();
    if (last && last->same_parts(parts) && last->join()) return last;
    last = std::make_shared<Assembly>(std::move(parts), places);
    last_ = last;
    return last;
  }

 private:
  std::weak_ptr<Assembly> last_;  // the copy that a worker pulled last
};

// Which nodes of a job take part, and which workers have finished. Workers have numbers from 0 within the
// job.
class JobProgress {
 public:
  // `nodes`: number of nodes of the run.
  JobProgress(std::uint32_t workers, std::size_t nodes)
      : completed_(workers), left_(workers), taken_out_(workers), joins_(nodes), starts_(nodes) {}

  // The worker has done all its steps (`completes`), or leaves before its last step.
  void finish(std::uint32_t worker, bool completes, double now) {
    (completes ? completed_ : left_)[worker] = true;
    last_finish_ = now;
  }
  void is_absent(std::uint32_t worker) { left_[worker] = true; }  // absent at the beginning
  void comes(std::uint32_t worker) { left_[worker] = false; }     // for the first time, or again
  // The scheduler's view lacks the worker (`is_out`) or contains it.
  void take_out(std::uint32_t worker, bool is_out) { taken_out_[worker] = is_out; }
  // The job no longer waits for a worker that is gone for good.
  void wait_no_longer(double now) { last_finish_ = now; }
  void end() { over_ = true; }

  bool has_completed(std::uint32_t worker) const { return completed_[worker]; }
  // The worker has left before its last step, or has not joined yet.
  bool has_left(std::uint32_t worker) const { return left_[worker]; }
  bool is_taken_out(std::uint32_t worker) const { return taken_out_[worker]; }
  bool some_completed() const { return std::ranges::find(completed_, true) != completed_.end(); }
  std::ptrdiff_t completed() const { return std::ranges::count(completed_, true); }
  bool all_left() const { return std::ranges::find(left_, false) == left_.end(); }
  // Whether each worker has done its steps, has left, or has not joined.
  bool all_through() const {
    for (std::size_t w = 0; w < completed_.size(); ++w) {
      if (!completed_[w] && !left_[w]) return false;
    }
    return true;
  }
  double last_finish() const { return last_finish_; }
  bool is_over() const { return over_; }  // the job has ended; others may go on

  // The node asks the scheduler to take part; later the scheduler tells it to start.
  void joins(NodeId node) { joins_[node] = true; }
  void has_joined(NodeId node) { joins_[node] = false; }
  bool is_joining(NodeId node) const { return joins_[node]; }

  // A start of the node is planned. take_start() ends the plan: its date has come, or the start is given up.
  void starts(NodeId node) { starts_[node] = true; }
  // Returns whether a start was planned.
  bool take_start(NodeId node) {
    const bool was_planned = starts_[node];
    starts_[node] = false;
    return was_planned;
  }
  bool is_starting(NodeId node) const { return starts_[node]; }
  bool some_start() const { return std::ranges::find(starts_, true) != starts_.end(); }

 private:
  std::vector<bool> completed_, left_, taken_out_;  // by worker
  std::vector<bool> joins_, starts_;                // by node
  double last_finish_ = 0;
  bool over_ = false;
};

// Where the number of local steps depends on the worker's speed: seconds of a local step of each worker in
// its last clock, at first by the plan. Pushes and pulls would carry these few bytes.
struct StepSeconds {
  explicit StepSeconds(const Scenario& scenario);
  // Among the workers that take part.
  double fastest(const JobProgress& progress) const;

  std::vector<double> of_worker;
};

struct JobState {
  // `nodes`: number of nodes of the run.
  JobState(const JobPlan& plan, std::size_t nodes);

  JobProgress progress;
  StepSeconds step_seconds;
  JobTotals totals;
  NodeUsage usage;  // of workers and servers
  Layouts layouts;
  LastWeights last_weights;
  StorageDisk disk;
  TaskUses tasks;
  ViewRecorder views;
  AssemblyCache assemblies;
  CorruptPushes corrupt_pushes;
  std::shared_ptr<FilterBuffers> filter_buffers = std::make_shared<FilterBuffers>();

  // The scheduler has made this view. If the view cuts a shard, this also cuts the stored weights of the
  // shard.
  void hear(const View& view);
};

}  // namespace psim
