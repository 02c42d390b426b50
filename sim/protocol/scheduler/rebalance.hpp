// Which shards a joining server takes: from the servers with the highest loads, until it has about its share.
// Pure.
//
// A server's share is the mean over all present servers. Decisions:
// - The server with the highest load gives first, and no server goes below the mean.
// - It gives the shard with the highest load among those that fit; so few shards move.
// - If none fits, the shard with the highest load is cut, and its upper part moves. The load of a part counts
//   in proportion to its values, because loads are measured only by shard.
// - Where there are four shards for each server, none is cut. Otherwise servers that are falsely suspected
//   again and again would cut the model into hundreds of shards.
// - "About" means five percent of the mean. For a smaller difference, no shard is cut or moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace psim {

// The shards that a server gets when it joins or returns.
enum class Rebalance : std::uint8_t { none, placement, load };

struct LoadedShard {
  std::uint32_t server = 0;  // that has it, or will have it
  double load = 0;
  std::size_t values = 0;
};

// A shard that moves; `at` > 0: it is cut, its first `at` values stay, and the others move.
struct Taken {
  std::uint32_t shard = 0;
  std::size_t at = 0;
  bool operator==(const Taken&) const = default;
};

// `servers`: the present servers, including `joiner`. The upper part of a cut shard counts as a new shard
// from then on, with the next free number, as in KeySpace::cut.
std::vector<Taken> take_share(std::vector<LoadedShard> shards, const std::vector<std::uint32_t>& servers,
                              std::uint32_t joiner);

}  // namespace psim
