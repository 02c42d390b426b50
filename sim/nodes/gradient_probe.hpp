// What staleness does to gradients: beside each one that a server applies, the gradient of the same samples
// on the weights that the servers have at that moment. A probe watches a run and changes nothing in it.
//
// The measure is that of the papers on stale gradients: the cosine of the angle between the two, which is 1
// where nothing was applied in between (Dutta et al., AISTATS 2018, bound the difference; Hermans and
// Spanakis, 2018, plot staleness against it). With several servers "the weights" are those of all at the date
// of the first shard's update.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/nodes/job_plan.hpp"
#include "sim/nodes/local_work.hpp"

namespace psim {

struct ProbedGradient {
  double at = 0;  // simulated seconds, of the last shard's update
  NodeId worker = 0;
  std::int64_t clock = 0, staleness = 0;
  double cosine = 0;  // of the angle between the gradient that is applied and the fresh one
  double ratio = 0;   // of their lengths
};

class GradientProbe {
 public:
  // Why gradients of this job cannot be compared with fresh ones; empty: they can.
  static std::string why_not(const JobPlan& plan);

  // A worker begins to compute, and has computed. From its actor.
  void on_work(NodeId worker, const LocalWork& work) { workers_[worker].work = work; }
  void on_gradient(NodeId worker, std::int64_t clock, const Values& gradient);
  // Shard `shard` of the job applies the worker's push of this clock. `weights`: its own, before that.
  void on_applied(const JobPlan& plan, std::uint32_t shard, const ProbedGradient& applied, Slice weights);

  const std::vector<ProbedGradient>& gradients() const { return gradients_; }

 private:
  struct Pushed {
    Values gradient;
    LocalWork work;
    std::map<std::uint32_t, Slice> weights = {};  // by shard that has applied it: before that
    std::int64_t staleness = 0;                   // of the shard where it was most
  };
  struct OfWorker {
    LocalWork work;
    std::map<std::int64_t, Pushed> pushed;  // by clock: not applied yet
  };
  std::map<NodeId, OfWorker> workers_;
  std::vector<ProbedGradient> gradients_;
};

}  // namespace psim
