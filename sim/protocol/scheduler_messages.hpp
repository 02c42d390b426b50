// The messages between all nodes and the scheduler. `life` counts the earlier starts of the sender.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/protocol/message_facts.hpp"
#include "sim/protocol/work.hpp"

namespace psim {

struct View;
using SharedView = std::shared_ptr<const View>;

// This node is up.
struct Join {
  std::int64_t life = 0;

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::join, .life = life}; }
};
// All nodes are up.
struct Start {
  SharedView view = {};  // null where no node may fail
  bool goes_on = false;  // the other workers have already begun

  std::uint64_t wire_bytes() const;
  MessageFacts facts() const;
};
// A worker has finished its steps, or a server hands over its shards and leaves.
struct Leave {
  std::int64_t life = 0;
  std::optional<std::int64_t> view = {};  // the last view that a server knows; the server still serves

  std::uint64_t wire_bytes() const { return view ? two_words : 0; }
  MessageFacts facts() const { return {.kind = MessageKind::leave, .life = life, .view = view}; }
};
// The scheduler has received a worker's Leave.
struct LeaveAck {
  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::ack}; }
};
// The number of values of a shard that its owner in epoch `epoch` has received in pushes and sent in answers
// to pulls.
struct ShardLoad {
  std::uint32_t shard = 0, epoch = 0;
  std::uint64_t values = 0;
};
struct Heartbeat {
  std::int64_t life = 0;
  std::int64_t view = -1;             // the last one that the sender knows
  bool is_through = false;            // a worker that has finished its steps
  std::vector<ShardLoad> loads = {};  // where loads decide the owners: of a server's own shards

  std::uint64_t wire_bytes() const { return two_words + loads.size() * two_words; }
  MessageFacts facts() const {
    return {.kind = MessageKind::heartbeat,
            .life = life,
            .view = from_zero(view),
            .ids = static_cast<std::uint32_t>(loads.size())};
  }
};
// The owners of all shards, and the workers that take part.
struct NewView {
  SharedView view;

  std::uint64_t wire_bytes() const;
  MessageFacts facts() const;
};
// A restarted scheduler asks for the view that the receiver knows.
struct AskView {
  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::view}; }
};
// A primary reports that the shard's next owner has received the first state.
struct Ready {
  NodeId next_owner = 0;

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const {
    return {.kind = MessageKind::ready, .has_shard = true, .next_owner = next_owner};
  }
};
// A worker reports its time for one sample, in seconds, before step `clock`. None: it has measured nothing
// since its last report, and asks for its share. find_slow: a report of every clock, for the search for slow
// workers.
struct Report {
  enum class To : std::uint8_t { share_work, find_slow };
  To purpose = To::share_work;
  std::int64_t clock = 0;
  std::optional<double> seconds_per_sample = {};
  std::optional<std::int64_t> decision = {};  // the last that it knows, where workers do not wait for them

  std::uint64_t wire_bytes() const { return decision ? two_words : 8; }
  MessageFacts facts() const { return {.kind = MessageKind::report, .clock = clock}; }
};
// The scheduler assigns a worker its batch size from that step on, and the number of samples that the workers
// before it take. Where nodes may fail, it also sends the sizes of the others. Where workers do not wait for
// each other, a decision has a number instead of a step.
struct Assign {
  std::int64_t clock = 0, batch_size = 0, samples_before = 0;
  std::optional<std::int64_t> decision = {};
  SharedSizes sizes = {};

  std::uint64_t wire_bytes() const { return two_words + (sizes ? bytes_per_size * sizes->size() : 0); }
  MessageFacts facts() const {
    return {.kind = MessageKind::assign,
            .clock = clock,
            .part = decision,
            .samples = batch_size,
            .samples_before = samples_before};
  }
};

}  // namespace psim
