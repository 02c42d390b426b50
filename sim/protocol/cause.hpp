// The cause of a message or an event, and what changes how long things take.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/base/enum_names.hpp"

namespace psim {

// How the time between a cause and its effect was spent. idle: no time passed, or the effect waited for its
// date.
enum class Spent : std::uint8_t { idle, compute, network, service, timeout, down };
inline constexpr auto spent_names = enum_names<Spent>();
constexpr const auto& names_of(Spent) { return spent_names; }

// What faults, stragglers and profiles change: the speed of a machine, the bandwidth of its links, and how
// much later its messages come.
enum class Quantity : std::uint8_t { speed, bandwidth, latency };
inline constexpr auto quantity_names = enum_names<Quantity>();

struct Cause {
  std::int64_t event = -1;  // its number in the record; -1: none
  Spent spent = Spent::idle;
  bool operator==(const Cause&) const = default;
};

// A further condition of an event, besides its cause: another event; or all workers' pushes of a clock to the
// event's shard, of which the last one counts.
struct Dependency {
  std::optional<std::int64_t> event = {}, clock = {};
};
using Dependencies = std::vector<Dependency>;

}  // namespace psim
