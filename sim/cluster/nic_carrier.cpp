#include "sim/cluster/nic_carrier.hpp"

#include <algorithm>
#include <limits>

#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

}  // namespace

NicCarrier::NicCarrier(const Scenario& scenario, Agenda& agenda)
    : scenario_(scenario),
      agenda_(agenda),
      model_(flow_model(scenario.cluster.network)),
      wiring_(scenario.cluster.network, make_topology(scenario.cluster)),
      // Slightly less, because the latencies are rounded.
      ahead_(scenario.messages.order != SendOrder::parallel
                 ? 0
                 : 0.999 * model_.latency * wiring_.least_latency()),
      turns_(scenario),
      queues_(scenario.cluster),
      stations_(scaled(wiring_.bandwidths(), model_.bandwidth),
                static_cast<unsigned>(scenario.cluster.network.segments),
                [this](std::uint32_t slot, double date) {
                  arrivals_.push_back({date, slot, numbers_[slot]});
                }),
      wakes_(never) {}

void NicCarrier::start(std::span<const Cargo> cargos) {
  for (const Cargo& cargo : cargos) enter(cargo);
  wake_in_time();
}

void NicCarrier::enter(const Cargo& cargo) {
  const NetworkSpec& network = scenario_.cluster.network;
  const std::uint32_t from = host_of(scenario_.cluster, cargo.from),
                      to = host_of(scenario_.cluster, cargo.to);
  const Wiring::Way way = wiring_.way(from, to);
  const double latency = way.latency;
  const bool has_turns = latency > 0;
  Stations::Load load{.bytes = static_cast<double>(cargo.bytes),
                      .weight = share_weight(network, latency, way.slowness),
                      .limit = way.limit * model_.bandwidth,
                      .path = way.stations};
  if (has_turns) {
    const Turns::Share share = turns_.next(cargo.from, cargo.to, cargo.bytes);
    load.last_turn = static_cast<double>(share.last_turn);
    load.weight *= share.weight;
    load.step = turns_.step(cargo.bytes);
  }
  if (model_.window > 0 && latency > 0) {
    const double limit = model_.bandwidth * model_.window / (2 * latency);
    load.limit = load.limit > 0 ? std::min(load.limit, limit) : limit;
  }
  if (network.cross_traffic) load.back = wiring_.way(to, from).stations;
  if (cargo.slot >= numbers_.size()) numbers_.resize(cargo.slot + std::size_t{1});
  numbers_[cargo.slot] = ++next_number_;
  const double queue = queues_.begin(cargo, Agenda::now(), [&] {
    return has_turns && !way.stations.empty() ? model_.bandwidth * wiring_.bandwidths()[way.stations.back()]
                                              : 0;
  });
  const double wait = cargo.streamed ? 0 : model_.latency * latency;
  stations_.enter(cargo.slot, Agenda::now() + wait + queue, load);
}

double NicCarrier::latency(NodeId from, NodeId to) {
  return model_.latency *
         wiring_.way(host_of(scenario_.cluster, from), host_of(scenario_.cluster, to)).latency;
}

void NicCarrier::cancel(std::uint32_t slot) {
  queues_.end(slot);
  stations_.cancel(slot, Agenda::now());  // it may still arrive at this date; the number below prevents that
  numbers_[slot] = 0;
  wake_in_time();
}

void NicCarrier::set_bandwidth(NodeId node, double factor) {
  for (const std::uint32_t station : wiring_.own(host_of(scenario_.cluster, node)))
    stations_.set_bandwidth(station, factor * model_.bandwidth * wiring_.bandwidths()[station],
                            Agenda::now());
  wake_in_time();
}

void NicCarrier::wake_in_time() {
  double date = stations_.next();
  if (!arrivals_.empty()) date = std::min(date, arrivals_.front().date);
  if (!(date < wakes_)) return;
  wakes_ = date;
  agenda_.at(date, [this, date] {
    if (wakes_ == date) work();
  });
}

void NicCarrier::work() {
  const double now = Agenda::now();
  wakes_ = never;
  if (stopped_) return;
  if (stations_.next() <= now) stations_.advance(now + ahead_);
  while (!arrivals_.empty() && arrivals_.front().date <= now) {
    const Arrival arrival = arrivals_.front();
    arrivals_.pop_front();
    if (numbers_[arrival.slot] != arrival.number) continue;  // cancelled
    numbers_[arrival.slot] = 0;
    queues_.end(arrival.slot);
    arrived_(arrival.slot);
  }
  wake_in_time();
}

}  // namespace psim
