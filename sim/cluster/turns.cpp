#include "sim/cluster/turns.hpp"

#include <algorithm>
#include <cmath>

#include "model/numerics/functions.hpp"
#include "model/random.hpp"

namespace psim {

namespace {

constexpr std::uint64_t undivided = 1500;  // bytes: a packet

}  // namespace

Turns::Turns(const Scenario& scenario)
    : seed_(static_cast<std::uint64_t>(scenario.seed)),
      longest_(2 * scenario.cluster.network.share_spread * scenario.cluster.network.share_turn.value),
      variance_(numerics::log1p(std::pow(scenario.cluster.network.share_cv, 2))) {}

Turns::Share Turns::next(NodeId from, NodeId to, std::uint64_t bytes) {
  return longest_ == 0 ? Share{} : share(from, to, sent_.add_one(from, to), bytes);
}

Turns::Share Turns::share(NodeId from, NodeId to, std::uint64_t number, std::uint64_t bytes) const {
  if (longest_ == 0 || bytes <= undivided) return {};
  Stream stream(seed_, "share", (std::uint64_t{from} << 32U) | to, number);
  const double last_turn = stream.uniform() * std::min(longest_, static_cast<double>(bytes));
  const double level = std::sqrt(variance_) * stream.normal() - variance_ / 2;
  return {.last_turn = static_cast<std::uint64_t>(last_turn), .weight = numerics::exp(level)};
}

}  // namespace psim
