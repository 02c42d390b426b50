// Events of messages.
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
    column("sent_bytes", "bytes on the network, header included", &Sent::bytes);
    column("shard", "the shard that the message is about", &Sent::shard);
    column("epoch", "of the shard's ownership, as far as the sender knows", &Sent::epoch);
    column("clock", "the clock that the message starts, finishes or is about", &Sent::clock);
    column("version", "version of the shard that the message carries, was computed on, or asks about",
           &Sent::version);
    column("above", "pull: the answer needs a version above this one", &Sent::above);
    column("pull", "pull and its answer: the number of the worker's pull of the shard, from 1", &Sent::pull);
    column("push", "push and its acknowledgement: the number of the worker's push to the shard, from 0",
           &Sent::push);
    column("pushes_before", "pull: number of the worker's pushes to the shard before it",
           &Sent::pushes_before);
    column("life", "number of earlier starts of the sender", &Sent::life);
    column("view", "the view that the message carries, or the last view that the sender knows", &Sent::view);
    column("entries",
           "number of entries of the shard's log that the sender has; for an entry: entries before it",
           &Sent::entries);
    column("log_epoch", "the epoch whose owner wrote that log", &Sent::log_epoch);
    column("part",
           "number of the all-reduce's round, the pipeline's micro-batch, the database's batch, the batch's "
           "piece, the request for samples to hold, or the decision about work",
           &Sent::part);
    column("samples", "number of samples that the message assigns, or gives to another worker",
           &Sent::samples);
    column("samples_before", "assign: number of samples of the workers before", &Sent::samples_before);
    column("pieces", "gradient: number of pieces of the receiver's batch that it covers", &Sent::pieces);
    column("next_owner", "ready: the node that now has the shard, too", &Sent::next_owner);
    column("carried_values", "how many numbers of a gradient or of weights it carries", &Sent::values);
    column("carried_keys", "how many keys of values, or of samples, it carries", &Sent::keys);
    column("carried_ids", "how many names of pushes and of workers it carries", &Sent::ids);
  }
};

// An event of a message that was sent before. Only the message's number is a column: the row in `sent` has
// the rest.
struct Movement {
  std::uint64_t message = 0;  // the number of its `Sent` event
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
      "A message of `node` is lost: a fault took it, or the run ended before it arrived";
  static constexpr void fields(auto&& column) { column("message", "its number in `sent`", &Lost::message); }
};

struct Repetition {
  NodeId receiver = 0;
  MessageKind kind = MessageKind::pull;
  std::uint32_t shard = 0;
  std::optional<std::int64_t> pull = {}, push = {};
  static constexpr const char* table = "repetition";
  static constexpr const char* about = "Worker `node` sends a request again, because no answer came";
  static constexpr void fields(auto&& column) {
    column("receiver", "a node", &Repetition::receiver);
    column("kind", "of the message", &Repetition::kind);
    column("shard", shard_meaning, &Repetition::shard);
    column("pull", "its number, as in `sent`", &Repetition::pull);
    column("push", "its number, as in `sent`", &Repetition::push);
  }
};

}  // namespace psim
