// The heartbeats of a job's servers and workers, where nodes may fail.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "sim/nodes/job/job_nodes.hpp"

namespace psim {

class Heartbeats {
 public:
  // `restart`: starts a finished node again; called from the agenda.
  Heartbeats(JobContext& job, const JobNodes& nodes, std::function<void(NodeId)> restart)
      : job_(job), nodes_(nodes), restart_(std::move(restart)) {}

  // Sends heartbeats during this incarnation of the node.
  void begin(NodeId node);
  // Sends one heartbeat at once. Returns false if an earlier heartbeat is still on its way.
  bool send(NodeId node);

 private:
  void beat(NodeId node, std::uint32_t incarnation, double date, int in_vain);

  JobContext& job_;
  const JobNodes& nodes_;
  std::function<void(NodeId)> restart_;
};

}  // namespace psim
