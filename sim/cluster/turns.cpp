#include "sim/cluster/turns.hpp"

#include <algorithm>
#include <cmath>

#include "model/base/random.hpp"
#include "model/numerics/functions.hpp"

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
      first_turn_(scenario.cluster.network.share_start.value),
      longest_(2 * scenario.cluster.network.share_spread * scenario.cluster.network.share_turn.value),
      variance_(log_variance(scenario.cluster.network.share_cv * growth(scenario.cluster))),
      variance_of_sender_(log_variance(1.5 * scenario.cluster.network.share_cv * growth(scenario.cluster))) {}

Turns::Share Turns::next(const Cargo& cargo, double now, double bandwidth) {
  if (longest_ == 0) return {};
  Share next = share(cargo.from, cargo.to, sent_.add_one(cargo.from, cargo.to), cargo.bytes);
  if (first_turn_ > 0 && bandwidth > 0 && cargo.bytes > undivided && !cargo.streamed)
    begin(cargo, now, bandwidth, next);
  return next;
}

void Turns::begin(const Cargo& cargo, double now, double bandwidth, Share& share) {
  const auto bytes = static_cast<double>(cargo.bytes);
  if (cargo.from >= first_turns_until_.size()) first_turns_until_.resize(cargo.from + std::size_t{1});
  double& until = first_turns_until_[cargo.from];
  share.wait = std::max(0.0, until - now);
  until = now + share.wait + std::min(first_turn_, bytes) / bandwidth;
  const double behind = std::min(first_turn_, share.wait * bandwidth) / bytes;
  share.weight /= std::max(1 - behind, 1 / last_turn_gain);
}

Turns::Share Turns::share(NodeId from, NodeId to, std::uint64_t number, std::uint64_t bytes) const {
  if (longest_ == 0 || bytes <= undivided) return {};
  Stream stream(seed_, "share", (std::uint64_t{from} << 32U) | to, number);
  const double last_turn = stream.uniform() * std::min(longest_, static_cast<double>(bytes));
  Stream of_sender(seed_, "share of a sender", from, number);
  return {.last_turn = static_cast<std::uint64_t>(last_turn),
          .weight = weight(stream, variance_) * weight(of_sender, variance_of_sender_)};
}

FlowModel flow_model(const NetworkSpec& network) {
  const bool lv08 = network.simgrid_model == SimgridModel::lv08;
  FlowModel model;
  if (lv08) model = {.latency = 13.01, .bandwidth = 0.97, .window = 4194304, .weight = 20537};
  if (network.tcp_window) model.window = network.tcp_window->value;
  // LV08 adds 20537 / bandwidth to the divisor of a flow's weight. This would hide the effect of the
  // latencies.
  if (network.share_spread > 0) model.weight = 0;
  return model;
}

double share_weight(const NetworkSpec& network, double latency, double slowness) {
  if (!(latency > 0)) return 1;
  return 1 / (own_latency * latency_unit(network) * latency + flow_model(network).weight * slowness);
}

double latency_unit(const NetworkSpec& network) {
  double longest = network.latency.value;
  for (const LinkSpec& link : network.links)
    longest = std::max(longest, link.latency ? link.latency->value : 0.0);
  if (network.topology == TopologyKind::simgrid_xml) return 1;
  // A long latency times the unit makes a weight too small. Flows have a part of their latencies, and last
  // turns have more weight.
  if (longest < 0.02) return 65536;
  return longest < 1 ? 1024 : 1 / own_latency;
}

}  // namespace psim
