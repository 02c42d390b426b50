#include "sim/cluster/port_queues.hpp"

#include <algorithm>
#include <utility>

namespace psim {

namespace {

constexpr double most_of_message = 128 << 10U, most_of_port = 8 * most_of_message;  // bytes

}  // namespace

PortQueues::Port& PortQueues::port(std::uint32_t host) {
  if (host >= ports_.size()) ports_.resize(host + std::size_t{1});
  return ports_[host];
}

void PortQueues::add(const Cargo& cargo, double now) {
  const std::uint32_t from = host_of(cluster_, cargo.from), to = host_of(cluster_, cargo.to);
  port(to).arriving.push_back(cargo.slot);
  ++port(from).leaving;
  if (cargo.slot >= on_way_.size()) on_way_.resize(cargo.slot + std::size_t{1});
  on_way_[cargo.slot] = {.from = from, .to = to, .bytes = static_cast<double>(cargo.bytes), .begun = now};
}

// What the sender's share of its own link exceeds the message's share of the port by, since the message
// began.
double PortQueues::waiting(const Arriving& message, double now, double bandwidth) const {
  const auto leaving = static_cast<double>(ports_[message.from].leaving),
             arriving = static_cast<double>(ports_[message.to].arriving.size());
  const double excess = bandwidth * (1 / leaving - 1 / arriving) * (now - message.begun);
  return std::clamp(excess, 0.0, std::min(most_of_message, part_ * message.bytes));
}

double PortQueues::wait(std::uint32_t to, double now, double bandwidth) {
  if (bandwidth == 0) return 0;
  double queue = 0;
  for (const std::uint32_t slot : port(to).arriving) {
    queue += waiting(on_way_[slot], now, bandwidth);
    if (queue >= most_of_port) break;
  }
  return std::min(queue, most_of_port) / bandwidth;
}

void PortQueues::end(std::uint32_t slot) {
  if (slot >= on_way_.size() || on_way_[slot].bytes == 0) return;
  const Arriving message = std::exchange(on_way_[slot], {});
  std::erase(ports_[message.to].arriving, slot);
  --ports_[message.from].leaving;
}

}  // namespace psim
