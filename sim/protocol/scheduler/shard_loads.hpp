// How many values go through each shard, as its owners report. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

class ShardLoads {
 public:
  explicit ShardLoads(std::size_t shards) : shards_(shards) {}

  // Begins to count loads at this date.
  void begin(double now) { since_ = now; }
  // An owner reports how many values went through its shard since it became the owner. Old news is ignored.
  void add(const ShardLoad& load);
  // Takes the rates from the last measurement until now; without news of that time all rates stay.
  void measure(double now);
  bool are_known() const;
  // Values per second that went through the shard before the last measurement.
  double rate(std::size_t shard) const { return shards_[shard].rate; }
  // The shard is cut; its upper part, the new last shard, has this share of its values.
  void cut(std::size_t shard, double share);

 private:
  struct Load {
    std::uint32_t epoch = 0;
    std::uint64_t told = 0, values = 0;  // by the owner of that epoch; in total
    double rate = 0;
  };
  std::vector<Load> shards_;
  double since_ = 0;  // date of the last measurement
};

}  // namespace psim
