// What a message, or an event, comes of.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/enum_names.hpp"

namespace psim {

// What the time between a cause and its effect went into. idle: it took none, or its date had to come.
enum class Spent : std::uint8_t { idle, compute, network, service, timeout, down };
inline constexpr auto spent_names = enum_names<Spent>();
constexpr const auto& names_of(Spent) { return spent_names; }

struct Cause {
  std::int64_t event = -1;  // its number in the record; -1: none
  Spent spent = Spent::idle;
  bool operator==(const Cause&) const = default;
};

// What an event could not do without, besides its cause: another event; or all workers' pushes of a clock to
// the shard of the event, whichever was the last to be applied.
struct Dependency {
  std::optional<std::int64_t> event = {}, clock = {};
};
using Dependencies = std::vector<Dependency>;

}  // namespace psim
