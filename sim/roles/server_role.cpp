#include "sim/roles/server_role.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <utility>

namespace psim {
namespace {

Server::Options options_of(const World& world, NodeId node, std::uint32_t shard) {
  const TrainingSpec& training = world.scenario.training;
  return {.id = node,
          .shard = shard,
          .shards = static_cast<std::uint32_t>(world.keys.shards.size()),
          .first_worker = world.first_worker(),
          .rule = world.rule,
          .batch_size = training.batch_size,
          .steps = world.steps,
          .optimizer = world.elastic() ? OptimizerSpec{.kind = OptimizerKind::sgd} : training.optimizer,
          .learning_rate = world.elastic() ? LearningRate{.base = 1} : world.learning_rate(),
          .staleness_aware = training.staleness_aware,
          .ranges = world.scenario.model.kind == ModelKind::logistic ? world.keys.shards[shard].ranges
                                                                     : std::vector<Range>{},
          .feature_blocks = training.feature_blocks,
          .parameters = static_cast<std::int64_t>(world.keys.parameters),
          .sum_only = world.workers_update(),
          .delay_compensation = training.delay_compensation,
          .delay_compensation_decay = training.delay_compensation_decay,
          .epochs_per_clock = world.epochs_per_clock()};
}

std::optional<Values> own_copy(const Slice& part) {
  if (!part.values) return std::nullopt;
  return Values::copy_of(*part.values, part.begin, part.count);
}

}  // namespace

ServerRole::ServerRole(World& world, std::uint32_t index, const std::shared_ptr<Values>& weights)
    : world_(world),
      node_(world.first_server() + index),
      filtered_(!filters_on(world.scenario.filters, false).empty()) {
  for (std::uint32_t s = 0; s < world.keys.shards.size(); ++s) {
    const Shard& shard = world.keys.shards[s];
    if (shard.server != index) continue;
    shards_.try_emplace(s, options_of(world, node_, s), own_copy(world.part_of(s, weights)), shard.count);
  }
}

ServerRanges ServerRole::ranges() const {
  ServerRanges all;
  for (const auto& [shard, server] : shards_) {
    all.now += server.ranges();
    all.split_off += server.range_splits();
  }
  return all;
}

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
    handle(message);
    for (; !announced_.empty(); announced_.pop_front()) handle(announced_.front());
  }
}

// What the first shard has decided is for all others here.
void ServerRole::handle(const Message& message) {
  const auto act = [&](auto& entry) {
    current_ = entry.first;
    entry.second.on(message, Agenda::now(), *this);
    send_all();
  };
  if (message.kind != MessageKind::group) return act(*shards_.find(message.shard));
  for (auto& entry : shards_) {
    if (entry.first != message.shard) act(entry);
  }
}

void ServerRole::send_all() {
  for (Outgoing& outgoing : outgoing_) {
    if (outgoing.flops > 0) {
      ++world_.busy;
      simgrid::s4u::this_actor::execute(outgoing.flops);
      --world_.busy;
    }
    world_.network.send(std::move(outgoing.message));
  }
  outgoing_.clear();
}

void ServerRole::send(Message message) {
  const double flops = message.values.count > 0 ? encode(message) : 0;
  outgoing_.push_back({std::move(message), flops});
}

// Puts the answer through the filters between this shard and its worker; returns what that costs.
double ServerRole::encode(Message& message) {
  Encoded encoded;
  if (filtered_) {
    const auto [it, is_new] = filters_.try_emplace({message.shard, message.to});
    if (is_new) it->second = world_.make_chain(message.shard, message.to, false);
    encoded = it->second->encode(message.values, message.keys);
  } else {
    encoded = FilterChain::plain(message.values, message.keys, world_.precision(),
                                 world_.scenario.messages.key_bytes());
  }
  encoded.values.version = message.values.version;
  message.values = std::move(encoded.values);
  message.keys = std::move(encoded.keys);
  message.payload = encoded.bytes;
  return encoded.flops;
}

void ServerRole::announce(Message message) {
  message.shard = current_;
  const std::vector<std::size_t> load = world_.keys.load(world_.servers());
  for (std::uint32_t s = 0; s < world_.servers(); ++s) {
    message.to = world_.first_server() + s;
    if (message.to != node_ && load[s] > 0) outgoing_.push_back({message, 0});
  }
  announced_.push_back(std::move(message));  // to the other shards here, when this one is done
}

void ServerRole::acknowledge(const Message& push) {
  if (!world_.scenario.messages.acknowledge) return;
  outgoing_.push_back(
      {{.kind = MessageKind::ack, .from = node_, .to = push.from, .shard = push.shard, .number = push.number},
       0});
}

void ServerRole::applied(const Message& push, std::int64_t staleness) {
  world_.record(EventKind::apply, node_, push.clock, push.version, push.from, staleness, push.shard);
  acknowledge(push);
}

void ServerRole::dropped(const Message& push) {
  world_.record(EventKind::drop, node_, push.clock, push.version, push.from, 0, push.shard);
  acknowledge(push);
}

// The one before it is acknowledged when it is applied or dropped.
void ServerRole::duplicate(const Message& push) {
  world_.record(EventKind::drop, node_, push.clock, push.version, push.from, 2, push.shard);
}

void ServerRole::discard(const Message& push) {
  world_.record(EventKind::drop, node_, push.clock, push.version, push.from, 1, push.shard);
}

void ServerRole::discard_rest() {
  for (const auto& [shard, server] : shards_) {
    for (const Message& push : server.pending()) discard(push);
  }
  if (in_hand_) discard(*in_hand_);
}

void ServerRole::updated(std::int64_t version) {
  world_.record(EventKind::update, node_, 0, version, 0, 0, current_);
  if (world_.on_update) world_.on_update();
}

namespace {

// Tells every worker its batch size, and how many samples of a clock the workers before it take.
void assign(World& world, const std::vector<std::int64_t>& sizes, std::int64_t clock) {
  std::int64_t before = 0;
  for (std::uint32_t w = 0; w < world.workers(); before += sizes[w++]) {
    world.network.send({.kind = MessageKind::assign,
                        .from = World::scheduler,
                        .to = world.first_worker() + w,
                        .clock = clock,
                        .version = before,
                        .number = sizes[w],
                        .payload = 16});
  }
}

}  // namespace

void run_scheduler(World& world) {
  const std::uint32_t members = world.servers() + world.workers();
  for (std::uint32_t i = 0; i < members; ++i) world.network.receive(World::scheduler);  // join
  for (NodeId node = 1; node <= members; ++node) {
    world.network.send({.kind = MessageKind::start, .from = World::scheduler, .to = node});
  }
  Balancer balancer(world.scenario.training.batch_size * world.workers(), world.workers(),
                    world.scenario.training.work_smoothing);
  for (std::uint32_t left = 0; left < world.workers();) {
    const Message message = world.network.receive(World::scheduler);
    if (message.kind == MessageKind::leave) ++left;
    else if (const auto sizes = balancer.report(message.from - world.first_worker(), message.seconds))
      assign(world, *sizes, message.clock);
  }
  world.on_end();
}

}  // namespace psim
