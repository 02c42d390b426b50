// The filters between a server's shards and the nodes that pull them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "sim/nodes/job_context.hpp"

namespace psim {

class AnswerFilters {
 public:
  explicit AnswerFilters(JobContext& job)
      : job_(job), are_on_(!filters_on(job.plan.scenario.filters, false).empty()) {}

  bool are_on() const { return are_on_; }
  // Applies the filters of this shard and receiver to an answer. Returns the flops that they cost.
  double encode(std::uint32_t shard, const Shard& place, NodeId to, Answer& answer);
  // Call it when the owner changes: another owner may have sent lists of keys in the meantime.
  void forget_keys(std::uint32_t shard);
  void erase(std::uint32_t shard);

 private:
  JobContext& job_;
  bool are_on_;
  std::map<std::pair<std::uint32_t, NodeId>, std::unique_ptr<FilterChain>> chains_;  // by shard and receiver
};

}  // namespace psim
