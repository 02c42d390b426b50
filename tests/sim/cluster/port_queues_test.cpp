#include "sim/cluster/stations.hpp"

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr double bandwidth = 1e6;  // bytes per second, of each port
constexpr std::uint64_t long_message = 1'000'000;

PortQueues queues_of(double part, double spread = 0.5) {
  static ClusterSpec cluster;
  cluster.workers = 20;
  cluster.servers = 1;
  cluster.network.share_queue = part;
  cluster.network.share_spread = spread;
  return PortQueues(cluster);
}

Cargo cargo(std::uint32_t slot, NodeId from, NodeId to, std::uint64_t bytes) {
  return {.slot = slot, .from = from, .to = to, .bytes = bytes};
}

// Of a request to node 0.
double wait(PortQueues& queues, double now, double of_port = bandwidth) {
  return queues.begin(cargo(99, 19, 0, 100), now, [&] { return of_port; });
}

double begin(PortQueues& queues, const Cargo& message) {
  return queues.begin(message, 0, [] { return bandwidth; });
}

}  // namespace

TEST_CASE("a packet waits behind messages that share the receiver's port", "[unit][port_queues]") {
  PortQueues queues = queues_of(0.04);
  CHECK(wait(queues, 0) == 0);
  CHECK(begin(queues, cargo(0, 1, 0, long_message)) == 0);
  CHECK(wait(queues, 1) == 0);  // alone, it arrives as fast as it leaves
  begin(queues, cargo(1, 2, 0, long_message));
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
    for (const NodeId to : {0U, 3U}) begin(queues, cargo(slot++, from, to, long_message));
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
  for (std::uint32_t slot = 0; slot < 2; ++slot) begin(queues, cargo(slot, slot + 1, 0, long_message));
  CHECK(kibibytes() == Approx(2 * 128));
  for (std::uint32_t slot = 2; slot < 12; ++slot) begin(queues, cargo(slot, slot + 1, 0, long_message));
  CHECK(kibibytes() == Approx(1024));
  // A slow link takes longer for the same bytes.
  CHECK(wait(queues, 100, bandwidth / 4) * bandwidth / 1024 == Approx(4 * 1024));
}

TEST_CASE("with ideal sharing, without queues or without a shared link nothing waits",
          "[unit][port_queues]") {
  PortQueues ideal = queues_of(0.5, 0), off = queues_of(0), none = queues_of(0.5);
  for (PortQueues* queues : {&ideal, &off, &none}) {
    for (std::uint32_t slot = 0; slot < 4; ++slot) begin(*queues, cargo(slot, slot + 1, 0, long_message));
    CHECK(wait(*queues, 10, queues == &none ? 0 : bandwidth) == 0);
    queues->end(0);
  }
}
