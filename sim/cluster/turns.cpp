#include "sim/cluster/turns.hpp"

#include <algorithm>

#include "model/random.hpp"

namespace psim {

namespace {

constexpr std::uint64_t undivided = 1500;  // bytes: a packet

}  // namespace

Turns::Turns(const Scenario& scenario)
    : Turns(static_cast<std::uint64_t>(scenario.seed), scenario.cluster.network.share_spread,
            scenario.cluster.network.share_turn.value) {}

std::uint64_t Turns::last_turn_of_next(NodeId from, NodeId to, std::uint64_t bytes) {
  return longest_ == 0 ? 0 : last_turn(from, to, sent_.add_one(from, to), bytes);
}

std::uint64_t Turns::last_turn(NodeId from, NodeId to, std::uint64_t number, std::uint64_t bytes) const {
  if (longest_ == 0 || bytes <= undivided) return 0;
  Stream stream(seed_, "share", (std::uint64_t{from} << 32U) | to, number);
  return static_cast<std::uint64_t>(stream.uniform() * std::min(longest_, static_cast<double>(bytes)));
}

}  // namespace psim
