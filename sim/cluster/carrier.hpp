// Moves a message's bytes across the wire: as flows of SimGrid, or in segments through the queues of links.
// The network (network.hpp) knows neither links nor shares.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/platform.hpp"
#include "sim/protocol/message.hpp"
#include "sim/record/result.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// A message whose values an aggregator may sum with others' (a push), or send to several (an answer).
struct Summable {
  enum class Kind : std::uint8_t { none, push, answer };
  Kind kind = Kind::none;
  std::uint32_t shard = 0;
  std::int64_t number = 0;  // push: its number; answer: its version
};

Summable summable(const Message& message);

struct Cargo {
  std::uint32_t slot;  // a small number that no other current cargo has
  NodeId from, to;
  std::uint64_t bytes;
  Summable what = {};
  // A message of a stream: its bytes use bandwidth from now on, and the carrier reports it when the last byte
  // has left. The network adds the latency of the route afterwards.
  bool streamed = false;
};

class Carrier {
 public:
  // Called in the kernel, when the last byte has arrived; for a stream, when it has left.
  using Arrived = std::function<void(std::uint32_t slot)>;

  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  virtual ~Carrier() = default;

  void on_arrival(Arrived arrived) { arrived_ = std::move(arrived); }
  // Starts all cargos in this order. The caller may be killed at the end, but not in between.
  virtual void start(std::span<const Cargo> cargos) = 0;
  // The cargo uses no more bandwidth, and does not arrive.
  virtual void cancel(std::uint32_t slot) = 0;
  // Seconds from the sending of a byte to its arrival over an unused route between two machines.
  virtual double latency(NodeId from, NodeId to) = 0;
  // Sets the remaining share of the bandwidth of a node's own links, both ways. From the agenda.
  virtual void set_bandwidth(NodeId node, double factor) = 0;
  // From now on no message arrives.
  virtual void stop() = 0;
  virtual SumTraffic traffic() const { return {}; }

 protected:
  Arrived arrived_;
};

// The carrier of the scenario's network model.
std::unique_ptr<Carrier> make_carrier(const Scenario& scenario, const Platform& platform, Agenda& agenda);

}  // namespace psim
