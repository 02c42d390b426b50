// A count for each ordered pair of nodes. Ten thousand workers and a hundred servers make two million pairs;
// a std::map with one node per pair would use as much memory as the messages between them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

class PairCounts {
 public:
  // Adds one, and returns the count before. A pair begins at zero.
  std::uint32_t add_one(NodeId from, NodeId to) {
    if (from >= blocks_.size()) blocks_.resize(from + std::size_t{1});
    std::vector<Block>& row = blocks_[from];
    const NodeId number = to / Block::size;
    auto block = std::ranges::lower_bound(row, number, {}, &Block::number);
    if (block == row.end() || block->number != number) block = row.insert(block, Block{number});
    return block->counts[to % Block::size]++;
  }

 private:
  // A block of neighbours: nodes of one kind have consecutive numbers, and talk to the same nodes.
  struct Block {
    static constexpr NodeId size = 15;  // with `number`: 64 bytes
    NodeId number;
    std::array<std::uint32_t, size> counts = {};
  };
  std::vector<std::vector<Block>> blocks_;  // by sender; rising
};

}  // namespace psim
