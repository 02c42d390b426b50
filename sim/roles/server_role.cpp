#include "sim/roles/server_role.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <utility>

namespace psim {
namespace {

Server::Options options_of(const World& world, NodeId node) {
  const TrainingSpec& training = world.scenario.training;
  return {.id = node,
          .first_server = world.first_server(),
          .first_worker = world.first_worker(),
          .rule = world.rule,
          .steps = world.steps,
          .optimizer = training.optimizer,
          .learning_rate = world.learning_rate(),
          .staleness_aware = training.staleness_aware,
          .epochs_per_clock = world.epochs_per_clock()};
}

}  // namespace

ServerRole::ServerRole(World& world, std::uint32_t index, std::optional<Values> weights)
    : world_(world),
      node_(world.first_server() + index),
      server_(options_of(world, node_), std::move(weights), world.range_of(index).count) {}

void ServerRole::run() {
  world_.network.send({.kind = MessageKind::join, .from = node_, .to = World::scheduler});
  const double flops_per_value = world_.scenario.cluster.server.flops_per_value;
  for (;;) {
    Message message = world_.network.receive(node_);
    const double flops =
        message.kind == MessageKind::push ? flops_per_value * static_cast<double>(message.values.count) : 0;
    if (flops > 0) {
      in_hand_ = std::move(message);
      ++world_.busy;
      simgrid::s4u::this_actor::execute(flops);
      --world_.busy;
      message = *std::exchange(in_hand_, std::nullopt);
    }
    server_.on(message, Agenda::now(), *this);
  }
}

void ServerRole::applied(const Message& push, std::int64_t staleness) {
  world_.record(EventKind::apply, node_, push.clock, push.version, push.from, staleness);
}

void ServerRole::dropped(const Message& push) {
  world_.record(EventKind::drop, node_, push.clock, push.version, push.from);
}

void ServerRole::discard(const Message& push) {
  world_.record(EventKind::drop, node_, push.clock, push.version, push.from, 1);
}

void ServerRole::discard_rest() {
  for (const Message& push : server_.pending()) discard(push);
  if (in_hand_) discard(*in_hand_);
}

void ServerRole::updated(std::int64_t version) {
  world_.record(EventKind::update, node_, 0, version);
  if (world_.on_update) world_.on_update();
}

void run_scheduler(World& world) {
  const std::uint32_t members = world.servers() + world.workers();
  for (std::uint32_t i = 0; i < members; ++i) world.network.receive(World::scheduler);  // join
  for (NodeId node = 1; node <= members; ++node) {
    world.network.send({.kind = MessageKind::start, .from = World::scheduler, .to = node});
  }
  for (std::uint32_t i = 0; i < world.workers(); ++i) world.network.receive(World::scheduler);  // leave
  world.on_end();
}

}  // namespace psim
