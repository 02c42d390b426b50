#include "sim/cluster/turns.hpp"

#include <algorithm>
#include <cmath>

#include "model/numerics/functions.hpp"
#include "model/random.hpp"

namespace psim {

namespace {

// The variation of weights grows with the number of connections that share a port.
double growth(const ClusterSpec& cluster) {
  return static_cast<double>(std::clamp<std::int64_t>(std::max(cluster.workers, cluster.servers), 1, 8)) / 4;
}

// Of the logarithm of a lognormal weight with this coefficient of variation.
double log_variance(double variation) { return numerics::log1p(variation * variation); }

// A lognormal weight with mean 1.
double weight(Stream& stream, double variance) {
  return numerics::exp(std::sqrt(variance) * stream.normal() - variance / 2);
}

}  // namespace

Turns::Turns(const Scenario& scenario)
    : seed_(static_cast<std::uint64_t>(scenario.seed)),
      longest_(2 * scenario.cluster.network.share_spread * scenario.cluster.network.share_turn.value),
      variance_(log_variance(scenario.cluster.network.share_cv * growth(scenario.cluster))),
      variance_of_sender_(log_variance(1.5 * scenario.cluster.network.share_cv * growth(scenario.cluster))) {}

Turns::Share Turns::next(NodeId from, NodeId to, std::uint64_t bytes) {
  return longest_ == 0 ? Share{} : share(from, to, sent_.add_one(from, to), bytes);
}

Turns::Share Turns::share(NodeId from, NodeId to, std::uint64_t number, std::uint64_t bytes) const {
  if (longest_ == 0 || bytes <= undivided) return {};
  Stream stream(seed_, "share", (std::uint64_t{from} << 32U) | to, number);
  const double last_turn = stream.uniform() * std::min(longest_, static_cast<double>(bytes));
  Stream of_sender(seed_, "share of a sender", from, number);
  return {.last_turn = static_cast<std::uint64_t>(last_turn),
          .weight = weight(stream, variance_) * weight(of_sender, variance_of_sender_)};
}

}  // namespace psim
