// The faults that corrupt pushes: what a worker sends instead of the values that it has computed.
//
// Decisions:
// - Only the push is wrong. The worker's own copy of the weights, its optimizer, and the gradients that it
//   computes for other workers stay right.
// - A copy is of what the other worker had computed at an earlier date, in whatever clock. So it does not
//   depend on the order of events at one date.
// - Noise depends on seed, worker and clock. So a repeated step draws the same noise.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model/values.hpp"
#include "sim/nodes/job/job_plan.hpp"
#include "sim/scenario/spec/faults.hpp"

namespace psim {

class CorruptPushes {
 public:
  explicit CorruptPushes(const JobPlan& plan);

  // The fault begins or ends for a worker of the job. `fault` must live until it ends.
  void set(std::uint32_t worker, const FaultSpec& fault, bool begins);
  // The values that the worker pushes now, for those that it has computed in this clock. Null for a phantom
  // model; `computed` itself if no fault is in force.
  std::shared_ptr<Values> pushed(std::uint32_t worker, std::int64_t clock, double now,
                                 const std::shared_ptr<Values>& computed);

 private:
  // The values that a worker computed last, and the last ones of an earlier date.
  struct Computed {
    double at = 0;
    std::shared_ptr<const Values> newest = {}, earlier = {};
  };
  void remember(std::uint32_t worker, double now, const Values& computed);
  const Values* copied(const FaultSpec& fault, double now) const;
  std::uint32_t source_of(const FaultSpec& fault) const;

  const JobPlan& plan_;
  std::vector<std::vector<const FaultSpec*>> in_force_;  // by worker, in the order in which they began
  std::map<std::uint32_t, Computed> copied_;             // by worker that others may copy
};

}  // namespace psim
