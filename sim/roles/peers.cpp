#include "sim/roles/peers.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/roles/all_reduce.hpp"
#include "sim/roles/pipeline.hpp"
#include "sim/scenario/spec/pace.hpp"

namespace psim {

std::unique_ptr<Peers> make_peers(World& world, const Values* weights) {
  if (world.scenario.architecture.kind == Architecture::all_reduce)
    return std::make_unique<AllReduce>(world, weights);
  return std::make_unique<Pipeline>(world, weights);
}

Replica::Replica(const World& world, const Values* initial, Range range)
    : world_(world), range_(range), rate_(world.learning_rate()) {
  if (!initial) return;
  parameters_ = Parameters(world.scenario.training.optimizer, world.storage(),
                           Values::copy_of(*initial, range.begin, range.count));
}

void Replica::update(Slice gradient, double weight) {
  const double rate = rate_.at(world_.epochs().after(static_cast<double>(version_)));
  ++version_;
  if (parameters_) parameters_.update(std::array{WeightedGradient{std::move(gradient), weight}}, rate);
}

Message Mailbox::take(MessageKind kind, NodeId from, std::int64_t clock, std::int64_t number) {
  const auto wanted = [&](const Message& m) {
    const MessageFacts facts = facts_of(m.body);
    return facts.kind == kind && m.from == from && facts.clock == clock && facts.number == number;
  };
  for (;;) {
    if (const auto found = std::ranges::find_if(early_, wanted); found != early_.end()) {
      Message message = std::move(*found);
      early_.erase(found);
      return message;
    }
    early_.push_back(world_.network.receive(node_));
  }
}

void enter(World& world, NodeId node, Mailbox& mailbox) {
  world.network.send({.from = node, .to = World::scheduler, .body = Join{}});
  mailbox.take(MessageKind::start, World::scheduler, 0, 0);
}

void leave(World& world, NodeId node, std::int64_t clock) {
  world.record(EventKind::finish, node, clock);
  world.last_finish = Agenda::now();
  world.completed[node - world.first_worker()] = true;
  world.network.send({.from = node, .to = World::scheduler, .body = Leave{}});
}

double flops_of_step(const World& world, std::uint32_t index, std::int64_t step) {
  const double mean =
      mean_step_seconds(world.scenario, index) * world.scenario.cluster.worker.speed.of(index).value;
  return mean * world.slowness.of_step(index, step);
}

void compute(World& world, NodeId node, double flops) {
  ++world.busy[node];
  simgrid::s4u::this_actor::execute(flops);
  --world.busy[node];
}

}  // namespace psim
