// What is recorded of messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/protocol/message.hpp"
#include "sim/record/event_column.hpp"

namespace psim {

struct Sent : MessageFacts {
  NodeId from = 0, to = 0;
  std::optional<std::uint32_t> shard = {}, epoch = {};
  std::uint64_t bytes = 0;  // on the network
  static constexpr InChain in_chain = InChain::word;
  static constexpr const char* table = "sent";
  static constexpr const char* about = "`node` sends a message; `number` names it in all tables";
  static constexpr void fields(auto&& column) {
    column("kind", "of the message", &Sent::kind);
    column("receiver", "a node", &Sent::to);
    column("sent_bytes", "header included", &Sent::bytes);
    column("shard", "that it is about", &Sent::shard);
    column("epoch", "of the shard's ownership, as far as the sender knows", &Sent::epoch);
    column("clock", "that it starts, finishes or is about", &Sent::clock);
    column("version", "of the shard: what it carries, was computed on, or asks about", &Sent::version);
    column("above", "pull: only a version above this one will do", &Sent::above);
    column("pull", "pull and its answer: the worker's pulls of the shard count from 1", &Sent::pull);
    column("push", "push and its acknowledgement: the worker's pushes to the shard count from 0",
           &Sent::push);
    column("pushes_before", "pull: the worker's pushes to the shard until then", &Sent::pushes_before);
    column("life", "how often the sender was started before", &Sent::life);
    column("view", "that it carries, or the last one that the sender knows", &Sent::view);
    column("entries", "of the shard's log, that the sender has; of an entry: those before it",
           &Sent::entries);
    column("log_epoch", "whose owner wrote that log", &Sent::log_epoch);
    column("part",
           "which round of an all-reduce, micro-batch of a pipeline, batch of a database, piece of a batch, "
           "request for samples to hold, or decision about work",
           &Sent::part);
    column("samples", "that it assigns, or gives to another worker", &Sent::samples);
    column("samples_before", "assign: those of the workers before", &Sent::samples_before);
    column("pieces", "gradient: pieces of the receiver's batch that it is of", &Sent::pieces);
    column("next_owner", "ready: the node that has the shard now as well", &Sent::next_owner);
    column("carried_values", "numbers of a gradient or of weights", &Sent::values);
    column("carried_keys", "of values, or of samples", &Sent::keys);
    column("carried_ids", "names of pushes and of workers", &Sent::ids);
  }
};

// Of a message that was sent before. Only its number is a column: the rest stands in the row of its sending.
struct Movement {
  std::uint64_t message = 0;  // the number of the event of its sending
  MessageKind kind = MessageKind::join;
  NodeId from = 0, to = 0;
  std::uint64_t bytes = 0;
};

struct Received : Movement {
  static constexpr const char* table = "received";
  static constexpr const char* about = "A message arrives at `node`";
  static constexpr void fields(auto&& column) {
    column("message", "its number in `sent`", &Received::message);
  }
};

struct Lost : Movement {
  static constexpr InChain in_chain = InChain::word;
  static constexpr const char* table = "lost";
  static constexpr const char* about =
      "A message of `node` will not arrive: a fault took it, or the run ended first";
  static constexpr void fields(auto&& column) { column("message", "its number in `sent`", &Lost::message); }
};

struct Repetition {
  NodeId receiver = 0;
  MessageKind kind = MessageKind::pull;
  std::uint32_t shard = 0;
  std::optional<std::int64_t> pull = {}, push = {};
  static constexpr const char* table = "repetition";
  static constexpr const char* about = "Worker `node` has had no answer, and sends a request again";
  static constexpr void fields(auto&& column) {
    column("receiver", "a node", &Repetition::receiver);
    column("kind", "of the message", &Repetition::kind);
    column("shard", shard_meaning, &Repetition::shard);
    column("pull", "its number, as in `sent`", &Repetition::pull);
    column("push", "its number, as in `sent`", &Repetition::push);
  }
};

}  // namespace psim
