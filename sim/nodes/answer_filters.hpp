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
  // Puts an answer about this shard through the filters on its way to this node; returns the flops of that.
  double encode(std::uint32_t shard, const Shard& place, NodeId to, Answer& answer);
  // Another owner may have sent lists of keys meanwhile.
  void forget_keys(std::uint32_t shard);
  void erase(std::uint32_t shard);

 private:
  JobContext& job_;
  bool are_on_;
  std::map<std::pair<std::uint32_t, NodeId>, std::unique_ptr<FilterChain>> chains_;  // by shard and receiver
};

}  // namespace psim
