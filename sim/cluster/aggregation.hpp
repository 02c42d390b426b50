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
// - A server still takes each push by itself: its work for one (flops_per_value, endpoints) is that of all.
// - An aggregator adds at the rate of its link: its arithmetic takes no time. In a switch it has no link of
// its
//   own either.
#pragma once

#include <cstdint>
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
  void cancel(std::uint32_t slot) override { legs_->cancel(slot); }
  double latency(NodeId from, NodeId to) override { return legs_->latency(from, to); }
  void set_bandwidth(NodeId node, double factor) override { legs_->set_bandwidth(node, factor); }
  void stop() override { legs_->stop(); }
  SumTraffic traffic() const override { return traffic_; }

 private:
  // What becomes one: the node at the far end, the shard, and which of its pushes or answers.
  using Key = std::tuple<NodeId, std::uint32_t, std::int64_t, std::uint32_t>;  // the last: the rack
  struct Sum {
    std::vector<Cargo> parts = {};
    std::uint64_t bytes = 0;  // of the largest
    double begun = 0;         // answers: when the first left
  };
  bool is_worker(NodeId node) const;
  void on_leg(std::uint32_t slot);
  void push_on(const Cargo& cargo);
  void answer(const Cargo& cargo);
  void go_on(const Key& key);
  void start_leg(std::uint32_t slot, NodeId from, NodeId to, std::uint64_t bytes);

  const Scenario& scenario_;
  std::unique_ptr<Carrier> legs_;
  Agenda& agenda_;
  std::vector<std::uint32_t> workers_of_rack_;
  std::map<Key, Sum> pushes_;              // at their aggregators
  std::map<std::uint32_t, Cargo> coming_;  // pushes on their first leg, answers on their last, by slot
  std::map<std::uint32_t, Sum> between_;  // on the leg between aggregator and server, by the first one's slot
  std::map<Key, std::uint32_t> answers_;  // the newest answer of each kind: its slot in `between_`
  SumTraffic traffic_;
};

}  // namespace psim
