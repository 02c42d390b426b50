// The kinds of messages, and the facts that a record keeps of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/enum_names.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/protocol/ids.hpp"

namespace psim {

// The names of the bodies, as scenarios and records have them.
enum class MessageKind : std::uint8_t {
  join,
  start,
  pull,
  weights,
  push,
  group,
  finished,
  leave,
  ack,
  chunk,
  activation,
  error,
  report,
  assign,
  fetch,
  samples,
  idle,
  piece,
  heartbeat,
  view,
  replicate,
  replicated,
  state,
  restore,
  decide,
  ready,
  standing,
  regroup,
  run,
  done,
  call,
  returned,
  gradient,
};
inline constexpr auto message_names = enum_names<MessageKind>();
constexpr const auto& names_of(MessageKind) { return message_names; }
constexpr std::string_view name_of(MessageKind kind) { return message_names[static_cast<std::size_t>(kind)]; }

inline constexpr std::uint64_t id_bytes = 12;  // a worker's number and a count
inline constexpr std::uint64_t two_words = 16;
inline constexpr std::uint64_t bytes_per_size = 4;  // of a batch

// The facts that a record keeps of a message besides its envelope and size. Facts that a kind of message does
// not have are empty.
struct MessageFacts {
  MessageKind kind = MessageKind::join;
  bool has_shard = false;  // the envelope's shard and epoch mean something
  std::optional<std::int64_t> clock = {}, version = {}, above = {};
  std::optional<std::int64_t> pull = {}, push = {}, pushes_before = {};  // as the sender counts them
  std::optional<std::int64_t> life = {}, view = {}, entries = {}, log_epoch = {};
  std::optional<std::int64_t> part = {}, pieces = {}, samples = {}, samples_before = {};
  std::optional<NodeId> next_owner = {};
  std::uint32_t values = 0, keys = 0, ids = 0;
  // The number that distinguishes it from other messages of its kind, shard and epoch.
  std::optional<std::int64_t> number() const;
};
// None for a negative number, which stands for "nothing".
inline std::optional<std::int64_t> from_zero(std::int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}
inline std::uint32_t count_of(const SharedKeys& keys) {
  return static_cast<std::uint32_t>(keys ? keys->size() : 0);
}

}  // namespace psim
