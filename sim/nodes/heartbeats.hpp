// The heartbeats of a job's servers and workers, where nodes may fail.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "sim/nodes/job_nodes.hpp"

namespace psim {

class Heartbeats {
 public:
  // `restart`: starts a node again that was through; from the agenda.
  Heartbeats(JobContext& job, const JobNodes& nodes, std::function<void(NodeId)> restart)
      : job_(job), nodes_(nodes), restart_(std::move(restart)) {}

  // As long as the node is what it is now.
  void begin(NodeId node);
  // One, at once; false when one is on its way.
  bool send(NodeId node);

 private:
  void beat(NodeId node, std::uint32_t incarnation, double date, int in_vain);

  JobContext& job_;
  const JobNodes& nodes_;
  std::function<void(NodeId)> restart_;
};

}  // namespace psim
