// What a worker asks of others than servers: batches, samples that it is to hold, its share of the work.
// Where messages may get lost each is sent again until it is answered. Answers may come twice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "sim/nodes/job_context.hpp"
#include "sim/protocol/retry.hpp"

namespace psim {

class Requests {
 public:
  Requests(JobContext& job, NodeId node) : job_(job), node_(node) {}

  // Request `number` of its kind. Repetitions go to `later` if that is given.
  void ask(std::int64_t number, Message&& request, std::optional<NodeId> later = {});
  // Returns whether it was still open.
  bool answered(MessageKind kind, std::int64_t number) { return open_.erase({kind, number}) > 0; }
  bool is_open(MessageKind kind, std::int64_t number) const { return open_.contains({kind, number}); }
  void forget(MessageKind kind);

  // When the next repetition is due.
  std::optional<double> next() const;
  void repeat(double now);
  // Of the oldest request that waits, for a run that can go on no more.
  const Message* oldest() const { return open_.empty() ? nullptr : &open_.begin()->second.message; }

 private:
  struct Request {
    Message message;
    std::optional<NodeId> later;
    Backoff backoff;
    double due;
  };
  bool is_answered_soon(const Message& request) const;

  JobContext& job_;
  NodeId node_;
  std::map<std::pair<MessageKind, std::int64_t>, Request> open_;
};

}  // namespace psim
