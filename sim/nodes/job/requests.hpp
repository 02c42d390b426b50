// A worker's requests to nodes that are not servers: batches, samples that it must hold, its share of the
// work. Where messages may be lost, the worker repeats each request until the answer comes. Answers may come
// twice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "sim/nodes/job/job_context.hpp"
#include "sim/protocol/retry.hpp"

namespace psim {

class Requests {
 public:
  Requests(JobContext& job, NodeId node) : job_(job), node_(node) {}

  // Sends request `number` of its kind. Repetitions go to `later` if it is given.
  void ask(std::int64_t number, Message&& request, std::optional<NodeId> later = {});
  // Returns whether the request was still open.
  bool answered(MessageKind kind, std::int64_t number) { return open_.erase({kind, number}) > 0; }
  bool is_open(MessageKind kind, std::int64_t number) const { return open_.contains({kind, number}); }
  void forget(MessageKind kind);

  // The date of the next repetition.
  std::optional<double> next() const;
  void repeat(double now);
  // The first open request, for a run that can make no more progress.
  const Message* oldest() const { return open_.empty() ? nullptr : &open_.begin()->second.message; }

 private:
  struct Request {
    Message message;
    std::optional<NodeId> later;
    Backoff backoff;
    double due;
  };

  JobContext& job_;
  NodeId node_;
  std::map<std::pair<MessageKind, std::int64_t>, Request> open_;
};

// The messages between a node and the scheduler at the node's beginning and end.

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
