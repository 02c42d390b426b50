// One thing that happened: when, at which node, and what, which is one of the types below. Everything that a
// run reports, its digest included, is a projection of the sequence of these.
//
// Each type declares its table of run.db: a name, a sentence, and its fields as columns. The digest, the
// table, its rows, the line for people and docs/tables.md are all made of that declaration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "sim/record/cause_chain.hpp"
#include "sim/record/cluster_events.hpp"
#include "sim/record/message_events.hpp"
#include "sim/record/server_events.hpp"
#include "sim/record/task_events.hpp"
#include "sim/record/worker_events.hpp"

namespace psim {

using Subject =
    std::variant<Sent, Received, Lost, Repetition, Computation, Finish, Wait, Acknowledgement, Prediction,
                 Release, PushOutcome, ModelUpdate, Recount, Copy, Promotion, Snapshot, Suspicion, ViewChange,
                 ShardPlace, Participant, FaultChange, TaskChange, SlowWorker, ShardCut, ShardMove>;

struct Event {
  double at = 0;    // simulated seconds
  NodeId node = 0;  // that it happens at; of a fault the scheduler, whoever it happens to
  Subject what = {};
  Cause cause = {};  // no part of the digest

  template <class T>
  const T* as() const {
    return std::get_if<T>(&what);
  }
};

// A server or the storage has worked on a message, by the number of its sending; none: on what it sends.
struct Service {
  NodeId node = 0;
  std::optional<std::uint64_t> message = {};
  double begin = 0, end = 0;
};

// A 64-bit hash of every declared field, the same on every machine of one byte order.
std::uint64_t hash_of(const Event& event);

// One line for people: the table, and its columns that there are.
std::string to_string(const Event& event);

// Whoever wants to see events. Observers cannot steer: they get a const reference and return nothing.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const Event& event, std::uint64_t hash) = 0;
  // A message, by the number of its sending, had to wait at its sender or receiver, or a fault delayed it:
  // when it was on the wire. No event, because only who explains times asks.
  virtual void on_wire(std::uint64_t /*message*/, double /*begin*/, double /*end*/) {}
  // An event needs another one, besides its cause.
  virtual void on_dependency(std::uint64_t /*event*/, const Dependency& /*need*/) {}
  virtual void on_service(const Service& /*work*/) {}
};

}  // namespace psim
