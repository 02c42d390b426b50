#include "sim/cluster/port_queues.hpp"

#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr double bandwidth = 1e6;  // bytes per second, of each port
constexpr std::uint64_t long_message = 1'000'000;

PortQueues queues_of(double part, double spread = 0.5) {
  NetworkSpec network;
  network.share_queue = part;
  network.share_spread = spread;
  return {network, std::vector<double>(20, bandwidth)};
}

Cargo cargo(std::uint32_t slot, NodeId from, NodeId to, std::uint64_t bytes) {
  return {.slot = slot, .from = from, .to = to, .bytes = bytes};
}

// A request to node 0.
double wait(PortQueues& queues, double now) { return queues.begin(cargo(99, 19, 0, 100), now); }

}  // namespace

TEST_CASE("a packet waits behind messages that share the receiver's port", "[unit][port_queues]") {
  PortQueues queues = queues_of(0.04);
  CHECK(wait(queues, 0) == 0);
  CHECK(queues.begin(cargo(0, 1, 0, long_message), 0) == 0);
  CHECK(wait(queues, 1) == 0);  // alone, it arrives as fast as it leaves
  queues.begin(cargo(1, 2, 0, long_message), 0);
  // Each sender has 1 MB/s and each message half of the port: half a byte of excess for each microsecond.
  CHECK(wait(queues, 0.01) == Approx(2 * 0.005));
  // And at most 4 % of a message.
  CHECK(wait(queues, 1) == Approx(2 * 0.04));
  queues.end(0);
  CHECK(wait(queues, 1) == 0);
  queues.end(1);
  queues.end(1);  // it is no longer there
  CHECK(wait(queues, 2) == 0);
}

TEST_CASE("messages that their senders' links slow down do not queue", "[unit][port_queues]") {
  PortQueues queues = queues_of(0.04);
  // Two senders, each with messages to two receivers: links and ports are equally full.
  std::uint32_t slot = 0;
  for (const NodeId from : {1U, 2U}) {
    for (const NodeId to : {0U, 3U}) queues.begin(cargo(slot++, from, to, long_message), 0);
  }
  CHECK(wait(queues, 1) == 0);
  // When the second receiver has its messages, the port of the first is the bottleneck.
  queues.end(1);
  queues.end(3);
  CHECK(wait(queues, 1) == Approx(0.08));
}

TEST_CASE("a queue holds 128 KiB of a message and 1 MiB in all", "[unit][port_queues]") {
  PortQueues queues = queues_of(0.5);
  const auto kibibytes = [&] { return wait(queues, 100) * bandwidth / 1024; };
  for (std::uint32_t slot = 0; slot < 2; ++slot) queues.begin(cargo(slot, slot + 1, 0, long_message), 0);
  CHECK(kibibytes() == Approx(2 * 128));
  for (std::uint32_t slot = 2; slot < 12; ++slot) queues.begin(cargo(slot, slot + 1, 0, long_message), 0);
  CHECK(kibibytes() == Approx(1024));
  queues.set_bandwidth(0, 0.25);  // a slow port takes longer for the same bytes
  CHECK(kibibytes() == Approx(4 * 1024));
}

TEST_CASE("without a port of its own, with ideal sharing or without queues nothing waits",
          "[unit][port_queues]") {
  NetworkSpec network;
  PortQueues none{network, std::vector<double>(20, 0)}, ideal = queues_of(0.5, 0), off = queues_of(0);
  for (PortQueues* queues : {&none, &ideal, &off}) {
    for (std::uint32_t slot = 0; slot < 4; ++slot) queues->begin(cargo(slot, slot + 1, 0, long_message), 0);
    CHECK(wait(*queues, 10) == 0);
    queues->end(0);
  }
}
