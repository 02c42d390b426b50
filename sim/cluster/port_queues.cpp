#include "sim/cluster/port_queues.hpp"

#include <algorithm>
#include <utility>

#include "sim/cluster/turns.hpp"

namespace psim {

namespace {

constexpr double most_of_message = 128 << 10U, most_of_port = 8 * most_of_message;  // bytes

}  // namespace

PortQueues::PortQueues(const NetworkSpec& network, const std::vector<double>& bandwidths)
    : part_(network.share_spread > 0 ? network.share_queue : 0) {
  for (const double bandwidth : bandwidths) ports_.push_back({.bandwidth = bandwidth});
}

// What the sender's share of its own link exceeds the message's share of the port by, since the message
// began.
double PortQueues::waiting(const Arriving& message, double now) const {
  const Port& port = ports_[message.to];
  const double leaving = ports_[message.from].leaving, arriving = static_cast<double>(port.arriving.size());
  const double excess = port.factor * port.bandwidth * (1 / leaving - 1 / arriving) * (now - message.begun);
  return std::clamp(excess, 0.0, std::min(most_of_message, part_ * message.bytes));
}

double PortQueues::begin(const Cargo& cargo, double now) {
  Port& port = ports_[cargo.to];
  if (part_ == 0 || port.bandwidth == 0) return 0;
  if (cargo.bytes <= undivided) {
    double queue = 0;
    for (const std::uint32_t slot : port.arriving) {
      queue += waiting(on_way_[slot], now);
      if (queue >= most_of_port) break;
    }
    return std::min(queue, most_of_port) / (port.factor * port.bandwidth);
  }
  port.arriving.push_back(cargo.slot);
  ++ports_[cargo.from].leaving;
  if (cargo.slot >= on_way_.size()) on_way_.resize(cargo.slot + std::size_t{1});
  on_way_[cargo.slot] = {
      .from = cargo.from, .to = cargo.to, .bytes = static_cast<double>(cargo.bytes), .begun = now};
  return 0;
}

void PortQueues::end(std::uint32_t slot) {
  if (slot >= on_way_.size() || on_way_[slot].bytes == 0) return;
  const Arriving message = std::exchange(on_way_[slot], {});
  std::erase(ports_[message.to].arriving, slot);
  --ports_[message.from].leaving;
}

}  // namespace psim
