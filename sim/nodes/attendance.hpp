// What a node and the scheduler say to each other when the node begins and when it ends.
#pragma once

#include <functional>
#include <optional>

#include "sim/nodes/job_context.hpp"

namespace psim {

// A server's or worker's first words; returns the scheduler's, which may hold the view.
// `others` gets what comes in before that; `meanwhile` is what the node does first, once it has said that it
// is there; it returns the scheduler's answer if it came upon it.
Start join(JobContext& job, NodeId node, const std::function<void(Message)>& others = {},
           const std::function<std::optional<Start>()>& meanwhile = {});
// A node's answer to a scheduler that has come back and asks which view it knows.
void tell_view(JobContext& job, NodeId node, const SharedView& view);
// A worker's last words; it is gone when the scheduler has them.
void leave(JobContext& job, NodeId node);

}  // namespace psim
