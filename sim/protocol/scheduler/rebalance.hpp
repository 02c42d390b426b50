// Which shards a server takes that joins: from those that have most, until it has about its share. Pure.
//
// A server's share is the mean over all servers that are there. Decisions:
// - The server with the highest load gives first, and no server gives so much that it has less than the mean.
// - It gives the shard with the highest load of those that fit; so few shards move.
// - If none fits, the one with the highest load is cut, and its upper part moves. The load of a part is
//   taken to be in proportion to its values: nobody measures more finely than by shards.
// - About is five percent of the mean. For less, nothing is cut and nothing moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace psim {

// What a server gets that joins or returns.
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

// `servers`: those that are there, `joiner` among them. A shard that is cut counts as a new one from there
// on, with the next free number, as in KeySpace::cut.
std::vector<Taken> take_share(std::vector<LoadedShard> shards, const std::vector<std::uint32_t>& servers,
                              std::uint32_t joiner);

}  // namespace psim
