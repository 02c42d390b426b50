// The messages between a node and the scheduler at the node's beginning and end.
#pragma once

#include <functional>
#include <optional>

#include "sim/nodes/job/job_context.hpp"

namespace psim {

// A server or a worker joins. Returns the scheduler's answer, which may hold the view. `others` gets the
// messages that come before the answer. `meanwhile` is the node's first work, after the node has sent its
// message; if this work receives the scheduler's answer, it returns the answer.
Start join(JobContext& job, NodeId node, const std::function<void(Message)>& others = {},
           const std::function<std::optional<Start>()>& meanwhile = {});
// A node answers a scheduler that has come back and asks which view the node knows.
void tell_view(JobContext& job, NodeId node, const SharedView& view);
// A worker's last message to the scheduler. Returns when the scheduler has it.
void leave(JobContext& job, NodeId node);

}  // namespace psim
