// Measures the effect of staleness on gradients. For each gradient that a server applies, the probe computes
// the gradient of the same samples on the servers' weights of that moment. A probe watches a run and does not
// change it.
//
// The papers on stale gradients use the same measure: the cosine of the angle between the two gradients. It
// is 1 if the servers applied nothing in between (Dutta et al., AISTATS 2018, bound the difference; Hermans
// and Spanakis, 2018, plot staleness against it). With several servers, "the weights" are the weights of
// every server just before its own update with this gradient.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/nodes/job/job_plan.hpp"
#include "sim/nodes/worker/local_work.hpp"

namespace psim {

struct ProbedGradient {
  double at = 0;  // simulated seconds at the last shard's update
  NodeId worker = 0;
  std::int64_t clock = 0, staleness = 0;
  double cosine = 0;  // of the angle between the applied and the fresh gradient
  double ratio = 0;   // length of the applied gradient over that of the fresh one
};

class GradientProbe {
 public:
  // Why psim cannot compare this job's gradients with fresh ones; empty if it can.
  static std::string why_not(const JobPlan& plan);

  // A worker begins to compute, and has computed. The worker's actor calls these.
  void on_work(NodeId worker, const LocalWork& work) { workers_[worker].work = work; }
  void on_gradient(NodeId worker, std::int64_t clock, const Values& gradient);
  // The job's shard `shard` applies the worker's push of this clock. `weights`: the shard's weights before
  // this update.
  void on_applied(const JobPlan& plan, std::uint32_t shard, const ProbedGradient& applied, Slice weights);

  const std::vector<ProbedGradient>& gradients() const { return gradients_; }

 private:
  struct Pushed {
    Values gradient;
    LocalWork work;
    std::map<std::uint32_t, Slice> weights = {};  // by shard that has applied it: the weights before
    std::int64_t staleness = 0;                   // the largest over the shards
  };
  struct OfWorker {
    LocalWork work;
    std::map<std::int64_t, Pushed> pushed;  // by clock: gradients that are not fully applied
  };
  std::map<NodeId, OfWorker> workers_;
  std::vector<ProbedGradient> gradients_;
};

}  // namespace psim
