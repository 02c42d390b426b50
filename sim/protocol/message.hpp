// What travels between nodes. A message's size is counted from its content: the header that the scenario
// gives, and its values.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/values.hpp"

namespace psim {

using NodeId = std::uint32_t;  // scheduler 0, then the servers, then the workers

enum class MessageKind : std::uint8_t {
  join,        // to the scheduler: this node is up
  start,       // from the scheduler: everybody is
  pull,        // worker to server: send me weights, when I may start `clock`
  weights,     // server to worker: version `version` of the server's range
  push,        // worker to server: a gradient computed on version `version`
  group,       // first server to the others: these pushes make the next update, those are too late
  finished,    // server to worker: there is nothing left to do
  leave,       // worker to scheduler: I am done
  chunk,       // worker to worker: part of the sum of gradients, as far as it has come
  activation,  // stage to the next one: what it made of a micro-batch
  error,       // stage to the one before: the loss's derivative by those activations
};
constexpr std::string_view name_of(MessageKind kind) {
  constexpr std::string_view names[] = {"join",     "start", "pull",  "weights",    "push", "group",
                                        "finished", "leave", "chunk", "activation", "error"};
  return names[static_cast<std::size_t>(kind)];
}

// One push of one worker, by the worker's own count.
struct PushId {
  NodeId worker = 0;
  std::int64_t number = 0;
  bool operator==(const PushId&) const = default;
};

struct Message {
  MessageKind kind = MessageKind::join;
  NodeId from = 0, to = 0;
  // pull: the clock to start; push: the clock that is finished by it
  std::int64_t clock = 0;
  // pull: only a version above this one will do (-1: any); weights, push: see above
  std::int64_t version = 0;
  // pull: counts the worker's pulls, returned by the answer; push: counts its pushes
  std::int64_t number = 0;
  // pull: pushes that the worker has sent to this server so far
  std::int64_t pushed = 0;
  // weights, push
  Slice values = {};
  // group
  std::vector<PushId> group = {}, late = {};

  std::uint64_t bytes(std::uint64_t header, Precision precision) const {
    constexpr std::uint64_t bytes_per_id = 12;  // a worker's number and a count
    return header + values.count * bytes_per_value(precision) + (group.size() + late.size()) * bytes_per_id;
  }
};

// One contiguous part of the key space, owned by one server.
struct Range {
  std::size_t begin = 0;
  std::size_t count = 0;
};

// Part `index` of [0, total) cut in `parts` equal ranges (sizes differ by at most one), as ps-lite does.
constexpr Range even_range(std::size_t total, std::size_t parts, std::size_t index) {
  const std::size_t begin = total * index / parts;
  return {begin, total * (index + 1) / parts - begin};
}

}  // namespace psim
