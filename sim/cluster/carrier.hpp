// How a message's bytes cross the wire: as flows of SimGrid (fluid_carrier.hpp), or in segments through the
// queues of links (nic_carrier.hpp). The network (network.hpp) knows neither links nor shares.
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
  std::int64_t number = 0;  // of the worker's push; version of an answer
};

Summable summable(const Message& message);

struct Cargo {
  std::uint32_t slot;  // a small number that no other cargo has now
  NodeId from, to;
  std::uint64_t bytes;
  Summable what = {};
  // Of a stream: its bytes take bandwidth from now on, and it has arrived when the last one has left. The
  // latency of its way comes after that, and is the network's.
  bool streamed = false;
};

class Carrier {
 public:
  // In the kernel, when the last byte is there; of a stream, when it has left.
  using Arrived = std::function<void(std::uint32_t slot)>;

  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  virtual ~Carrier() = default;

  void on_arrival(Arrived arrived) { arrived_ = std::move(arrived); }
  // All in one go, in this order: the caller may be killed at its end, but not in between.
  virtual void start(std::span<const Cargo> cargos) = 0;
  // It takes no more bandwidth, and does not arrive.
  virtual void cancel(std::uint32_t slot) = 0;
  // Seconds from the sending of a byte to its arrival on an empty way between two machines.
  virtual double latency(NodeId from, NodeId to) = 0;
  // Sets the remaining share of the bandwidth of a node's own links, both ways. From the agenda.
  virtual void set_bandwidth(NodeId node, double factor) = 0;
  // Nothing arrives any more.
  virtual void stop() = 0;
  virtual SumTraffic traffic() const { return {}; }

 protected:
  Arrived arrived_;
};

// That of the scenario's network model.
std::unique_ptr<Carrier> make_carrier(const Scenario& scenario, const Platform& platform, Agenda& agenda);

}  // namespace psim
