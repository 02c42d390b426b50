// Sums on the way: between the workers of a rack and a server, the rack's aggregator makes one of their
// pushes, and many of a server's one answer.
//
// Decisions:
// - It is a part of the wire: a carrier that uses another one for its legs. Sender and receiver, and so the
//   protocol and the record, are those of every message. What a server gets at once are the pushes of one
//   rack, in worker order, and it adds them in worker order as it always does: the weights are those of a run
//   without aggregators, bit for bit.
// - Each worker's push of a clock goes to the aggregator of its rack. When those of all of the rack's workers
//   are there, one of their size goes on to the server. So all workers must push in every clock, and nothing
//   may be lost.
// - Answers with values that leave a server at the same date, for the same shard, to the same rack, go to its
//   aggregator as one, and from there to each worker.
// - A node stores: it sends on what it has whole. A switch streams: it sends on each packet when it has those
//   of all workers. So a sum leaves from the first byte of the last push on, and is at the server when its
//   own last byte is, or the last byte of the last push, whichever comes later; copies of an answer likewise.
//   A packet takes no time of its own.
// - A server still takes each push by itself: its work for one (flops_per_value, endpoints) is that of all.
// - An aggregator adds at the rate of its link: its arithmetic takes no time. In a switch it has no link of
//   its own either.
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
  // What becomes one: the node at the far end, the shard, and which of its pushes or answers.
  using Key = std::tuple<NodeId, std::uint32_t, std::int64_t, std::uint32_t>;  // the last: the rack
  // Pushes have a near leg each, from their worker to the aggregator, and then the common one to the server.
  // An answer has the common one first, and then a near one for each worker.
  struct Sum {
    Key key;
    NodeId server, aggregator;
    bool is_push;
    std::vector<Cargo> parts = {};
    std::uint64_t bytes = 0;  // of the largest
    // Of pushes, when the first byte of each is at the aggregator; of an answer, when it left the server.
    double begun = 0;
    bool goes_on = false;              // what leaves the aggregator has begun
    bool is_carried = false;           // the common leg has ended
    std::optional<double> whole = {};  // when the aggregator had all of each push, or of the answer
    std::size_t near = 0;              // near legs that have ended, or whose answers have arrived
    std::vector<Cargo> early = {};     // answers whose near leg has ended while the common one goes on
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
  std::map<Key, Number> pushes_;            // those that lack a push
  std::map<Key, Number> answers_;           // the newest answer of each kind, until the aggregator has it
  std::map<std::uint32_t, Number> sum_of_;  // by leg
  SumTraffic traffic_;
};

}  // namespace psim
