// Key spaces for tests: a shard for each entry, on that server, each of so many values.
#pragma once

#include <vector>

#include "sim/protocol/key_space.hpp"

namespace psim::test {

inline KeySpace placed_on(const std::vector<std::uint32_t>& servers, std::size_t values = 100) {
  KeySpace space{.parameters = values * servers.size(), .shards = {}};
  for (std::uint32_t s = 0; s < servers.size(); ++s)
    space.shards.push_back({.server = servers[s],
                            .ranges = {{s * values, values}},
                            .count = values,
                            .part = {.root = s, .range = {0, values}}});
  return space;
}

}  // namespace psim::test
