// An event: its date, its node, and its content, which has one of the types below. Everything that a run
// reports, including its digest, is a projection of the sequence of events.
//
// Each type declares its table of run.db: a name, a sentence, and its fields as columns. The digest, the
// table, its rows, the printed line and docs/tables.md all follow from that declaration.
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
  NodeId node = 0;  // where it happens; for a fault: the scheduler
  Subject what = {};
  Cause cause = {};  // not in the digest

  template <class T>
  const T* as() const {
    return std::get_if<T>(&what);
  }
};

// A server or the storage has worked on a message. `message`: the number of its `Sent` event; none: the node
// has prepared messages to send.
struct Service {
  NodeId node = 0;
  std::optional<std::uint64_t> message = {};
  double begin = 0, end = 0;
};

// A 64-bit hash of every declared field. Machines of equal byte order give equal hashes.
std::uint64_t hash_of(const Event& event);

// One readable line: the table's name, and the columns that have a value.
std::string to_string(const Event& event);

// An observer of events. It cannot change the run: it gets a const reference and returns nothing.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const Event& event, std::uint64_t hash) = 0;
  // When a message was on the wire, if it had to wait at its sender or receiver, or a fault delayed it.
  // `message`: the number of its `Sent` event. This is no event, because only explanations of times need it.
  virtual void on_wire(std::uint64_t /*message*/, double /*begin*/, double /*end*/) {}
  // In addition to its cause, an event needs another event.
  virtual void on_dependency(std::uint64_t /*event*/, const Dependency& /*need*/) {}
  virtual void on_service(const Service& /*work*/) {}
};

}  // namespace psim
