#include "sim/record/event.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <bit>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/faults.hpp"

namespace psim {

std::uint64_t hash_of(const Event& e) {
  const std::array<std::uint64_t, 8> words{
      std::bit_cast<std::uint64_t>(e.at),
      static_cast<std::uint64_t>(e.kind) | static_cast<std::uint64_t>(e.message) << 8U,
      static_cast<std::uint64_t>(e.node) | static_cast<std::uint64_t>(e.peer) << 32U,
      static_cast<std::uint64_t>(e.clock),
      static_cast<std::uint64_t>(e.version),
      e.bytes,
      static_cast<std::uint64_t>(e.value),
      e.shard | static_cast<std::uint64_t>(e.epoch) << 32U};
  return XXH3_64bits(words.data(), sizeof words);
}

std::string to_string(const Event& e) {
  switch (e.kind) {
    case EventKind::send:
    case EventKind::lose:
      return fmt::format("t={:.9g}s {} {}: node {} -> node {}, shard {}, clock {}, version {}, {} bytes",
                         e.at, name_of(e.kind), name_of(e.message), e.node, e.peer, e.shard, e.clock,
                         e.version, e.bytes);
    case EventKind::deliver:
      return fmt::format("t={:.9g}s deliver {}: node {} <- node {}, shard {}, clock {}, version {}, {} bytes",
                         e.at, name_of(e.message), e.node, e.peer, e.shard, e.clock, e.version, e.bytes);
    case EventKind::apply:
      return fmt::format("t={:.9g}s apply: server {} takes clock {} of node {}, staleness {}", e.at, e.node,
                         e.clock, e.peer, e.value);
    case EventKind::fault:
      return fmt::format("t={:.9g}s fault {}: {} {} for node {}", e.at, e.clock,
                         FaultKind::at(static_cast<std::size_t>(e.value))->name,
                         e.version == 1 ? "begins" : "ends", e.node);
    default:
      return fmt::format("t={:.9g}s {}: node {}, peer {}, clock {}, version {}", e.at, name_of(e.kind),
                         e.node, e.peer, e.clock, e.version);
  }
}

}  // namespace psim
