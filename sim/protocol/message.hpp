// The messages between nodes: an envelope, and a body of one of the types below. A message's size is the
// scenario's header size plus the wire_size() of its body. The struct of each body says how many bytes it
// takes, and which facts the record keeps.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/protocol/cause.hpp"
#include "sim/protocol/ids.hpp"
#include "sim/protocol/peer_messages.hpp"
#include "sim/protocol/scheduler_messages.hpp"
#include "sim/protocol/server_messages.hpp"
#include "sim/protocol/task_messages.hpp"
#include "sim/protocol/work_messages.hpp"
#include "sim/protocol/worker_messages.hpp"

namespace psim {

using Body = std::variant<Join, Start, Leave, LeaveAck, Heartbeat, NewView, AskView, Ready, Report, Assign,
                          Pull, Push, Answer, Ack, UpdateGroup, Decide, Replicate, Replicated, State, Restore,
                          Chunk, Activations, Errors, Standing, Regroup, Fetch, Samples, Idle, Piece, RunTask,
                          TaskDone, Call, Returned, PieceGradient>;

struct Message {
  NodeId from = 0, to = 0;
  std::uint32_t shard = 0;
  std::uint32_t epoch = 0;  // of the shard's ownership, as far as the sender knows
  Body body = {};
  // For the record; takes no bytes on the network.
  std::optional<std::uint64_t> sent = {};  // the number of its `Sent` event
  Cause because = {};       // until its arrival: of its sending; then: of its use by the receiver
  double there_at = 0;      // date since when it waits for its connection or in the inbox
  Dependencies needs = {};  // of its sending

  template <class T>
  const T* as() const {
    return std::get_if<T>(&body);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&body);
  }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(body);
  }
};

// For std::visit: one lambda for each type. A type without a lambda does not compile.
template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

template <class T, class... Ts>
concept OneOf = (std::same_as<T, Ts> || ...);
// The types that a receiver ignores, by name: each receiver has to decide about a new type.
template <class... Ts>
struct Ignore {
  void operator()(const OneOf<Ts...> auto&) const {}
};

// On the network, without the header, in bytes.
std::uint64_t wire_size(const Body& body);

MessageFacts facts_of(const Body& body);
inline MessageKind kind_of(const Message& message) { return facts_of(message.body).kind; }

inline std::int64_t samples_of(const std::vector<Push>& group) {
  std::int64_t samples = 0;
  for (const Push& push : group) samples += push.samples;
  return samples;
}

}  // namespace psim
