// The numbers of nodes and pushes.
#pragma once

#include <compare>
#include <cstdint>

namespace psim {

using NodeId = std::uint32_t;  // in this order: scheduler, servers, workers, others
inline constexpr NodeId scheduler_node = 0;

// One push of one worker, by the worker's own count.
struct PushId {
  NodeId worker = 0;
  std::int64_t number = 0;
  auto operator<=>(const PushId&) const = default;
};

}  // namespace psim
