// What the roles of one job work with: what the job is, what it runs on, how far it has come, and who
// watches.
#pragma once

#include <memory>
#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/pool.hpp"
#include "sim/cluster/slowness.hpp"
#include "sim/record/recorder.hpp"
#include "sim/roles/job_observer.hpp"
#include "sim/roles/job_plan.hpp"
#include "sim/roles/job_state.hpp"

namespace psim {

struct JobContext {
  const JobPlan& plan;
  Agenda& agenda;
  Network& network;
  Recorder& recorder;
  Pool& pool;
  Slowness& slowness;  // of its workers' steps
  JobState& state;
  JobObserver& observer;

  // Whether a worker is, or will be, there, with steps to do. When another has done all of them a worker that
  // takes no part finds nothing left: it would go on from where the others are. That is one that has left, or
  // is down or taken out where lost workers are removed.
  bool awaits(NodeId worker) const;
  // Whether nobody is awaited, and the steps are done, or all workers have left of their own accord.
  bool is_through() const;

  // One assembled copy of the weights for all workers that pulled the same version.
  std::shared_ptr<Assembly> assemble(std::vector<Slice> parts);
  // The filters of one direction between a worker and a shard; none if messages go as they are.
  std::unique_ptr<FilterChain> make_chain(std::uint32_t shard, NodeId worker, bool push) const;

  // What a server did with a push. Shards of records are numbered over all jobs.
  void record_push(EventKind kind, NodeId server, std::uint32_t shard, const Push& push, std::int64_t value) {
    recorder.record({.at = Agenda::now(),
                     .kind = kind,
                     .node = server,
                     .peer = push.worker,
                     .clock = push.clock,
                     .version = push.version,
                     .bytes = static_cast<std::uint64_t>(push.number),
                     .value = value,
                     .shard = plan.first_shard + shard});
  }
  // A computation that came to its end, of `samples`.
  void record_computed(EventKind kind, NodeId node, std::int64_t clock, std::int64_t version,
                       std::int64_t samples, std::int64_t parts_to_come = 0) {
    record(kind, node, clock, version, 0, parts_to_come, 0, static_cast<std::uint64_t>(samples));
  }
  void record(EventKind kind, NodeId node, std::int64_t clock, std::int64_t version = 0, NodeId peer = 0,
              std::int64_t value = 0, std::uint32_t shard = 0, std::uint64_t detail = 0) {
    if (kind == EventKind::compute_begin || kind == EventKind::finish) observer.on_clock(node, clock);
    recorder.record({.at = Agenda::now(),
                     .kind = kind,
                     .node = node,
                     .peer = peer,
                     .clock = clock,
                     .version = version,
                     .value = value,
                     .shard = shard,
                     .detail = detail});
  }
};

// Counts a computation of a node as long as it lives, even if its actor is killed meanwhile.
class Busy {
 public:
  Busy(JobContext& job, NodeId node) : count_(job.state.busy[node]) { ++count_; }
  ~Busy() { --count_; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  int& count_;
};

}  // namespace psim
