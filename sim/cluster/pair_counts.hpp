// A count for each ordered pair of nodes that has one. Ten thousand workers and a hundred servers are two
// million pairs, and a map's node for each of them takes as much memory as the messages between them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

class PairCounts {
 public:
  // The count before this one. A pair begins at zero.
  std::uint32_t add_one(NodeId from, NodeId to) {
    if (from >= blocks_.size()) blocks_.resize(from + std::size_t{1});
    std::vector<Block>& row = blocks_[from];
    const NodeId number = to / Block::size;
    auto block = std::ranges::lower_bound(row, number, {}, &Block::number);
    if (block == row.end() || block->number != number) block = row.insert(block, Block{number});
    return block->counts[to % Block::size]++;
  }

 private:
  // Neighbours, because nodes of one kind are numbered in a row, and talk to the same ones.
  struct Block {
    static constexpr NodeId size = 15;  // with the number 64 bytes
    NodeId number;
    std::array<std::uint32_t, size> counts = {};
  };
  std::vector<std::vector<Block>> blocks_;  // by sender; rising
};

}  // namespace psim
