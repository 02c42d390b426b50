// In-network sums. Between the workers of a rack and a server, the rack's aggregator combines their pushes
// into one, and copies one answer of a server to all of them.
//
// Decisions:
// - An aggregator is a part of the wire: a carrier that uses another carrier for its legs. Every message
//   keeps its sender and receiver, so the protocol and the record do not change. The server gets the pushes
//   of a rack at once and adds them in worker order, as always. So the weights equal those of a run without
//   aggregators, bit for bit.
// - Each worker's push of a clock goes to the aggregator of its rack. When the pushes of all workers of the
//   rack are there, one message of their size goes on to the server. So all workers must push in every clock,
//   and no message may be lost.
// - Answers with values that leave a server at the same date, for the same shard, to the same rack, go to the
//   rack's aggregator as one message, and from there to each worker.
// - A node stores: it forwards a message when it has all of it. A switch streams: it forwards each packet
//   when it has this packet of all workers. So a sum starts at the first byte of the last push. It reaches
//   the server when its own last byte arrives, or the last byte of the last push, whichever is later. Copies
//   of an answer follow the same rule. A packet takes no time of its own.
// - A server still handles each push separately: its work for a push (flops_per_value, endpoints) does not
//   change.
// - An aggregator adds at the rate of its link: its arithmetic takes no time. An aggregator in a switch has
//   no separate link.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/cluster/carrier.hpp"

namespace psim {

class AggregatingCarrier final : public Carrier {
 public:
  AggregatingCarrier(const Scenario& scenario, std::unique_ptr<Carrier> legs, Agenda& agenda);

  void start(std::span<const Cargo> cargos) override;
  void cancel(std::uint32_t slot) override;
  double latency(NodeId from, NodeId to) override { return legs_->latency(from, to); }
  void set_bandwidth(NodeId node, double factor) override { legs_->set_bandwidth(node, factor); }
  void stop() override { legs_->stop(); }
  SumTraffic traffic() const override { return traffic_; }

 private:
  // Messages with one key are combined: the server, the shard, the number of the push or answer, and the
  // rack.
  using Key = std::tuple<NodeId, std::uint32_t, std::int64_t, std::uint32_t>;  // see above
  // Each push has a near leg, from its worker to the aggregator; then the common leg leads to the server. An
  // answer has the common leg first, and then a near leg for each worker.
  struct Sum {
    Key key;
    NodeId server, aggregator;
    bool is_push;
    std::vector<Cargo> parts = {};
    std::uint64_t bytes = 0;  // of the largest part
    // Pushes: when the first byte of each is at the aggregator. An answer: when it left the server.
    double begun = 0;
    bool goes_on = false;              // messages have started to leave the aggregator
    bool is_carried = false;           // the common leg has ended
    std::optional<double> whole = {};  // when the aggregator had all of each push, or of the answer
    std::size_t near = 0;              // near legs that have ended, or whose answers have arrived
    std::vector<Cargo> early = {};     // answers whose near leg has ended before the common leg
  };
  using Number = std::uint64_t;
  bool is_worker(NodeId node) const;
  bool has_all(const Sum& sum) const;
  void on_leg(std::uint32_t leg);
  void push(const Cargo& cargo);
  void answer(const Cargo& cargo);
  void go_on(Number number);
  void end_near_leg(Number number, std::uint32_t slot);
  void end_common_leg(Number number);
  void deliver_pushes(Number number);
  void deliver_answer(Number number, const Cargo& part);
  void start_near(Number number, const Cargo& part);
  void start_common(Number number);
  void at(double date, const std::function<void()>& action);
  double near_latency(const Sum& sum, const Cargo& part);

  const Scenario& scenario_;
  std::unique_ptr<Carrier> legs_;
  Agenda& agenda_;
  std::vector<std::uint32_t> workers_of_rack_;
  bool streams_;
  Number next_ = 0;
  std::map<Number, Sum> sums_;              // on their way
  std::map<Key, Number> pushes_;            // sums that wait for a push
  std::map<Key, Number> answers_;           // the newest answer of each key, until the aggregator has it
  std::map<std::uint32_t, Number> sum_of_;  // by leg
  SumTraffic traffic_;
};

}  // namespace psim
