#include "sim/cluster/rack_aggregation.hpp"

#include <algorithm>
#include <utility>

#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

// Legs use slot numbers of the lower carrier. A direct message has one leg. A sum has a near leg for each of
// its messages, and a common leg, which uses the slot of one of the messages.
std::uint32_t near_leg(std::uint32_t slot) { return 2 * slot; }
std::uint32_t common_leg(std::uint32_t slot) { return 2 * slot + 1; }
std::uint32_t slot_of(std::uint32_t leg) { return leg / 2; }

}  // namespace

AggregatingCarrier::AggregatingCarrier(const Scenario& scenario, std::unique_ptr<Carrier> legs,
                                       Agenda& agenda)
    : scenario_(scenario),
      legs_(std::move(legs)),
      agenda_(agenda),
      workers_of_rack_(aggregator_count(scenario.cluster)),
      streams_(scenario.cluster.network.aggregate == AggregateAt::switches) {
  const auto first = static_cast<NodeId>(1 + scenario.cluster.servers);
  for (NodeId node = first; node < first + static_cast<NodeId>(scenario.cluster.workers); ++node)
    ++workers_of_rack_[rack_of(scenario.cluster, node)];
  legs_->on_arrival([this](std::uint32_t leg) { on_leg(leg); });
}

void AggregatingCarrier::start(std::span<const Cargo> cargos) {
  for (const Cargo& cargo : cargos) {
    if (cargo.what.kind == Summable::Kind::push) {
      push(cargo);
    } else if (cargo.what.kind == Summable::Kind::answer && is_worker(cargo.to)) {
      answer(cargo);
    } else {
      Cargo straight = cargo;
      straight.slot = near_leg(cargo.slot);
      legs_->start({&straight, 1});
    }
  }
}

void AggregatingCarrier::cancel(std::uint32_t slot) { legs_->cancel(near_leg(slot)); }

bool AggregatingCarrier::is_worker(NodeId node) const {
  const auto first = static_cast<NodeId>(1 + scenario_.cluster.servers);
  return node >= first && node < first + static_cast<NodeId>(scenario_.cluster.workers);
}

bool AggregatingCarrier::has_all(const Sum& sum) const {
  return sum.parts.size() >= workers_of_rack_[std::get<3>(sum.key)];
}

double AggregatingCarrier::near_latency(const Sum& sum, const Cargo& part) {
  return sum.is_push ? legs_->latency(part.from, sum.aggregator) : legs_->latency(sum.aggregator, part.to);
}

// Does the action now if its date has come, otherwise at its date. It may be called from the report of a
// flow.
void AggregatingCarrier::at(double date, const std::function<void()>& action) {
  if (date > Agenda::now()) agenda_.at(date, action);
  else action();
}

// Another node may send while a flow starts, so callers change all state before they start a flow.
void AggregatingCarrier::start_near(Number number, const Cargo& part) {
  const Sum& sum = sums_.at(number);
  const Cargo leg{.slot = near_leg(part.slot),
                  .from = sum.is_push ? part.from : sum.aggregator,
                  .to = sum.is_push ? sum.aggregator : part.to,
                  .bytes = part.bytes};
  sum_of_[leg.slot] = number;
  legs_->start({&leg, 1});
}

void AggregatingCarrier::start_common(Number number) {
  const Sum& sum = sums_.at(number);
  const Cargo leg{.slot = common_leg(sum.parts.front().slot),
                  .from = sum.is_push ? sum.aggregator : sum.server,
                  .to = sum.is_push ? sum.server : sum.aggregator,
                  .bytes = sum.bytes};
  sum_of_[leg.slot] = number;
  legs_->start({&leg, 1});
}

void AggregatingCarrier::push(const Cargo& cargo) {
  const std::uint32_t rack = rack_of(scenario_.cluster, cargo.from);
  const Key key{cargo.to, cargo.what.shard, cargo.what.number, rack};
  traffic_.pushes += 1;
  traffic_.push_bytes += cargo.bytes;
  const auto [found, is_new] = pushes_.try_emplace(key, next_);
  const Number number = found->second;
  if (is_new)
    sums_.emplace(next_++, Sum{.key = key,
                               .server = cargo.to,
                               .aggregator = node_count(scenario_.cluster) + rack,
                               .is_push = true});
  Sum& sum = sums_.at(number);
  sum.parts.push_back(cargo);
  sum.bytes = std::max(sum.bytes, cargo.bytes);
  sum.begun = std::max(sum.begun, Agenda::now() + near_latency(sum, cargo));
  const bool is_last = has_all(sum);
  if (is_last) {
    pushes_.erase(found);
    std::ranges::sort(sum.parts, {}, &Cargo::from);  // in worker order
  }
  const double begun = sum.begun;
  start_near(number, cargo);
  if (is_last && streams_) agenda_.at(begun, [this, number] { go_on(number); });
}

// An answer that leaves at the same date as another answer of its key joins it.
void AggregatingCarrier::answer(const Cargo& cargo) {
  const std::uint32_t rack = rack_of(scenario_.cluster, cargo.to);
  const Key key{cargo.from, cargo.what.shard, cargo.what.number, rack};
  traffic_.answers += 1;
  traffic_.answer_bytes += cargo.bytes;
  const auto last = answers_.find(key);
  if (last != answers_.end()) {
    Sum& sum = sums_.at(last->second);
    if (sum.begun == Agenda::now()) {
      sum.parts.push_back(cargo);
      if (sum.goes_on) start_near(last->second, cargo);
      return;
    }
  }
  const Number number = next_++;
  const NodeId aggregator = node_count(scenario_.cluster) + rack;
  answers_[key] = number;
  sums_.emplace(number, Sum{.key = key,
                            .server = cargo.from,
                            .aggregator = aggregator,
                            .is_push = false,
                            .parts = {cargo},
                            .bytes = cargo.bytes,
                            .begun = Agenda::now()});
  traffic_.copied += 1;
  traffic_.copied_bytes += cargo.bytes;
  const double here = Agenda::now() + legs_->latency(cargo.from, aggregator);
  start_common(number);
  if (streams_) agenda_.at(here, [this, number] { go_on(number); });
}

void AggregatingCarrier::go_on(Number number) {
  Sum& sum = sums_.at(number);
  sum.goes_on = true;
  if (sum.is_push) {
    traffic_.sums += 1;
    traffic_.sum_bytes += sum.bytes;
    start_common(number);
  } else {
    for (const Cargo& part : std::vector<Cargo>(sum.parts)) start_near(number, part);
  }
}

// No flow may begin while the carrier reports another flow.
void AggregatingCarrier::on_leg(std::uint32_t leg) {
  const auto found = sum_of_.find(leg);
  if (found == sum_of_.end()) return arrived_(slot_of(leg));
  const Number number = found->second;
  sum_of_.erase(found);
  if (leg == near_leg(slot_of(leg))) end_near_leg(number, slot_of(leg));
  else end_common_leg(number);
}

void AggregatingCarrier::end_near_leg(Number number, std::uint32_t slot) {
  Sum& sum = sums_.at(number);
  if (!sum.is_push) {
    const Cargo part = *std::ranges::find(sum.parts, slot, &Cargo::slot);
    if (sum.whole) deliver_answer(number, part);
    else sum.early.push_back(part);
    return;
  }
  if (++sum.near < sum.parts.size() || !has_all(sum)) return;
  sum.whole = Agenda::now();
  if (streams_) deliver_pushes(number);
  else agenda_.at(Agenda::now(), [this, number] { go_on(number); });
}

void AggregatingCarrier::end_common_leg(Number number) {
  Sum& sum = sums_.at(number);
  sum.is_carried = true;
  if (sum.is_push) return deliver_pushes(number);
  sum.whole = Agenda::now();
  if (const auto newest = answers_.find(sum.key); newest != answers_.end() && newest->second == number)
    answers_.erase(newest);
  if (!streams_) agenda_.at(Agenda::now(), [this, number] { go_on(number); });
  for (const Cargo& part : std::exchange(sum.early, {})) deliver_answer(number, part);
}

void AggregatingCarrier::deliver_pushes(Number number) {
  const Sum& sum = sums_.at(number);
  if (!sum.whole || !sum.is_carried) return;
  const double date = streams_ ? *sum.whole + legs_->latency(sum.aggregator, sum.server) : 0;
  at(date, [this, number] {
    const Sum whole = std::move(sums_.extract(number).mapped());
    for (const Cargo& part : whole.parts) arrived_(part.slot);
  });
}

void AggregatingCarrier::deliver_answer(Number number, const Cargo& part) {
  Sum& sum = sums_.at(number);
  const double date = streams_ ? *sum.whole + near_latency(sum, part) : 0;
  if (++sum.near == sum.parts.size()) sums_.erase(number);
  at(date, [this, slot = part.slot] { arrived_(slot); });
}

}  // namespace psim
