#include "sim/cluster/aggregation.hpp"

#include <algorithm>
#include <utility>

#include "model/mutant.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

AggregatingCarrier::AggregatingCarrier(const Scenario& scenario, std::unique_ptr<Carrier> legs,
                                       Agenda& agenda)
    : scenario_(scenario),
      legs_(std::move(legs)),
      agenda_(agenda),
      workers_of_rack_(aggregator_count(scenario.cluster)) {
  const auto first = static_cast<NodeId>(1 + scenario.cluster.servers);
  for (NodeId node = first; node < first + static_cast<NodeId>(scenario.cluster.workers); ++node)
    ++workers_of_rack_[rack_of(scenario.cluster, node)];
  legs_->on_arrival([this](std::uint32_t slot) { on_leg(slot); });
}

void AggregatingCarrier::start(std::span<const Cargo> cargos) {
  for (const Cargo& cargo : cargos) {
    const NodeId hub = node_count(scenario_.cluster);
    if (cargo.what.kind == Summable::Kind::push) {
      traffic_.pushes += 1;
      traffic_.push_bytes += cargo.bytes;
      coming_[cargo.slot] = cargo;
      start_leg(cargo.slot, cargo.from, hub + rack_of(scenario_.cluster, cargo.from), cargo.bytes);
    } else if (cargo.what.kind == Summable::Kind::answer && is_worker(cargo.to)) {
      answer(cargo);
    } else {
      legs_->start({&cargo, 1});
    }
  }
}

bool AggregatingCarrier::is_worker(NodeId node) const {
  const auto first = static_cast<NodeId>(1 + scenario_.cluster.servers);
  return node >= first && node < first + static_cast<NodeId>(scenario_.cluster.workers);
}

void AggregatingCarrier::start_leg(std::uint32_t slot, NodeId from, NodeId to, std::uint64_t bytes) {
  const Cargo leg{.slot = slot, .from = from, .to = to, .bytes = bytes};
  legs_->start({&leg, 1});
}

// One that leaves at the same date as another joins it.
void AggregatingCarrier::answer(const Cargo& cargo) {
  const std::uint32_t rack = rack_of(scenario_.cluster, cargo.to);
  const Key key{cargo.from, cargo.what.shard, cargo.what.number, rack};
  traffic_.answers += 1;
  traffic_.answer_bytes += cargo.bytes;
  const auto last = answers_.find(key);
  if (last != answers_.end() && !mutant("every-answer-goes-alone")) {
    const auto sum = between_.find(last->second);
    if (sum != between_.end() && sum->second.begun == Agenda::now()) {
      sum->second.parts.push_back(cargo);
      return;
    }
  }
  answers_[key] = cargo.slot;
  between_[cargo.slot] = {.parts = {cargo}, .bytes = cargo.bytes, .begun = Agenda::now()};
  traffic_.copied += 1;
  traffic_.copied_bytes += cargo.bytes;
  start_leg(cargo.slot, cargo.from, node_count(scenario_.cluster) + rack, cargo.bytes);
}

// No flow may begin while the carrier reports another one.
void AggregatingCarrier::on_leg(std::uint32_t slot) {
  if (const auto sum = between_.find(slot); sum != between_.end()) {
    const Sum whole = std::move(between_.extract(sum).mapped());
    const bool is_push = whole.parts.front().what.kind == Summable::Kind::push;
    if (is_push) {
      for (const Cargo& part : whole.parts) arrived_(part.slot);
      return;
    }
    const Cargo& first = whole.parts.front();
    const auto newest = answers_.find(
        {first.from, first.what.shard, first.what.number, rack_of(scenario_.cluster, first.to)});
    if (newest != answers_.end() && newest->second == slot) answers_.erase(newest);
    agenda_.at(Agenda::now(), [this, parts = whole.parts] {
      const NodeId hub = node_count(scenario_.cluster);
      for (const Cargo& part : parts) {
        coming_[part.slot] = part;
        start_leg(part.slot, hub + rack_of(scenario_.cluster, part.to), part.to, part.bytes);
      }
    });
    return;
  }
  const auto coming = coming_.find(slot);
  if (coming == coming_.end()) return arrived_(slot);
  const Cargo cargo = coming_.extract(coming).mapped();
  if (cargo.what.kind == Summable::Kind::push) push_on(cargo);
  else arrived_(slot);
}

void AggregatingCarrier::push_on(const Cargo& cargo) {
  const std::uint32_t rack = rack_of(scenario_.cluster, cargo.from);
  const Key key{cargo.to, cargo.what.shard, cargo.what.number, rack};
  Sum& sum = pushes_[key];
  sum.parts.push_back(cargo);
  sum.bytes = std::max(sum.bytes, cargo.bytes);
  const std::size_t all = workers_of_rack_[rack] - (mutant("sums-lack-a-worker") ? 1 : 0);
  if (sum.parts.size() < all) return;
  std::ranges::sort(sum.parts, {}, &Cargo::from);  // in worker order
  agenda_.at(Agenda::now(), [this, key] { go_on(key); });
}

void AggregatingCarrier::go_on(const Key& key) {
  Sum sum = std::move(pushes_.extract(key).mapped());
  const Cargo first = sum.parts.front();
  traffic_.sums += 1;
  traffic_.sum_bytes += sum.bytes;
  const std::uint64_t bytes = sum.bytes;
  between_[first.slot] = std::move(sum);
  start_leg(first.slot, node_count(scenario_.cluster) + rack_of(scenario_.cluster, first.from), first.to,
            bytes);
}

}  // namespace psim
