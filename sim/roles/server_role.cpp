#include "sim/roles/server_role.hpp"

#include <xxhash.h>
#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <utility>

#include "model/mutant.hpp"

namespace psim {

namespace {

ShardWeights::Options weights_options(const World& world, std::uint32_t shard) {
  const TrainingSpec& training = world.scenario.training;
  const bool is_sparse = world.scenario.model.kind == ModelKind::logistic;
  // Workers that update need every sum before their next step: nothing is stale.
  const bool compensates = !world.workers_update() || mutant("sums-are-compensated");
  ShardWeights::Options options{
      .optimizer = world.elastic() ? OptimizerSpec{.kind = OptimizerKind::sgd} : training.optimizer,
      .storage = world.storage(),
      .loss_scale = world.loss_scale(),
      .ranges = is_sparse ? world.keys.shards[shard].ranges : std::vector<Range>{},
      .feature_blocks = training.feature_blocks,
      .parameters = static_cast<std::int64_t>(world.keys.parameters),
      .sum_only = world.workers_update(),
      .bytes_per_key = world.bytes_per_key()};
  if (compensates) options.compensation = {training.delay_compensation, training.delay_compensation_decay};
  return options;
}

}  // namespace

ShardServer::Options ServerRole::options_of(std::uint32_t shard) const {
  const World& world = world_;
  const TrainingSpec& training = world.scenario.training;
  return {.id = node_,
          .state = {.shard = shard,
                    .shards = static_cast<std::uint32_t>(world.keys.shards.size()),
                    .first_worker = world.first_worker(),
                    .rule = world.rule,
                    .steps = world.steps,
                    .batch_size = training.batch_size,
                    .clock_samples = world.steals() ? training.batch_size * world.workers() : 0,
                    .learning_rate = world.elastic() ? LearningRate{.base = 1} : world.learning_rate(),
                    .staleness_aware = training.staleness_aware,
                    .exactly_once = world.scenario.recovery.semantics == Semantics::exactly_once,
                    .epochs = world.epochs(),
                    .weights = weights_options(world, shard)},
          .confirms = world.scenario.may_fail(),
          .replication = world.scenario.replication,
          .resend = world.retry(),
          .checked = checks_invariants()};
}

namespace {

std::size_t values_to_apply(const Message& message) {
  if (const Push* push = message.as<Push>()) return push->gradient.values.count;
  const Replicate* replicate = message.as<Replicate>();
  if (replicate == nullptr || mutant("replica-works-for-nothing")) return 0;
  const LogEntry& entry = *replicate->entry;
  if (entry.push) return entry.push->gradient.values.count;
  return entry.sum ? entry.sum->gradient.values.count : 0;
}

}  // namespace

ServerRole::ServerRole(World& world, std::uint32_t index)
    : world_(world),
      node_(world.first_server() + index),
      filtered_(!filters_on(world.scenario.filters, false).empty()),
      asks_(world.retry()) {}

void ServerRole::own(std::uint32_t shard, std::optional<Values> weights) {
  shards_.try_emplace(shard, options_of(shard), std::move(weights), world_.keys.shards[shard].count);
}

ServerRanges ServerRole::ranges() const {
  ServerRanges all;
  for (const auto& [shard, server] : shards_) {
    all.now += server.state().range_clock.ranges();
    all.split_off += server.state().range_splits;
  }
  return all;
}

void ServerRole::run() {
  if (world_.scenario.may_fail()) return run_watched();
  world_.network.send({.from = node_, .to = World::scheduler, .body = Join{}});
  for (;;) {
    Message message = world_.network.receive(node_);
    ServerRole& role = role_for(message);
    role.take(std::move(message));
  }
}

// Messages number shards over all namespaces, a role its own.
ServerRole& ServerRole::role_for(const Message& message) {
  const auto other = std::ranges::find_if(
      others_, [&message](const ServerRole* role) { return role->world_.has_shard(message.shard); });
  return other == others_.end() ? *this : **other;
}

void ServerRole::take(Message message) {
  message.shard -= world_.first_shard;
  const std::size_t values = values_to_apply(message);
  const double flops = world_.scenario.cluster.server.flops_per_value * static_cast<double>(values);
  if (flops > 0 && !mutant("servers-work-for-nothing")) {
    in_hand_ = std::move(message);
    work(flops);
    message = *std::exchange(in_hand_, std::nullopt);
  }
  handle(message);
  take_announced();
}

void ServerRole::take_announced() {
  for (; !announced_.empty(); announced_.pop_front()) handle(announced_.front());
}

void ServerRole::work(double flops) {
  const World::Busy busy(world_, node_);
  simgrid::s4u::this_actor::execute(flops);
}

// What the first shard has decided is for all others here.
void ServerRole::handle(const Message& message) {
  if (message.is<Start>()) return;
  if (message.is<UpdateGroup>() && world_.scenario.may_fail()) return on_decision(message);
  const Push* push = message.as<Push>();
  if (ended_) {
    if (push != nullptr) discard(message.shard, *push);
    return;
  }
  if (!message.is<UpdateGroup>()) {
    const auto entry = shards_.find(message.shard);
    current_ = message.shard;
    if (entry != shards_.end()) act(*entry, message);
    else if (push != nullptr) refused(*push);  // for another owner
    else if (message.is<Replicate>()) lacks_state(message);
    return;
  }
  for (auto& entry : shards_) {
    if (entry.first != message.shard) act(entry, message);
  }
}

void ServerRole::act(std::pair<const std::uint32_t, ShardServer>& entry, const Message& message) {
  current_ = entry.first;
  if (const Push* push = message.as<Push>(); push != nullptr && acknowledges_arrival()) acknowledge(*push);
  entry.second.on(message, Agenda::now(), *this);
  send_all();
}

void ServerRole::send_all() {
  for (Outgoing& outgoing : outgoing_) {
    if (outgoing.flops > 0 && !mutant("answers-are-filtered-for-nothing")) work(outgoing.flops);
    outgoing.message.shard += world_.first_shard;
    if (outgoing.is_new) world_.network.send(std::move(outgoing.message));
    else world_.network.send_once(std::move(outgoing.message));
  }
  outgoing_.clear();
}

void ServerRole::send(Message message) {
  if (message.is<Decide>()) {
    message.to = owners_.at(0).primary;
    message.epoch = owners_.at(0).epoch;
  }
  const bool is_decision = message.is<Decide>() || message.is<UpdateGroup>();
  if (is_decision && message.to == node_) return announced_.push_back(std::move(message));
  double flops = 0;
  if (Answer* answer = message.as<Answer>(); answer != nullptr && answer->weights.values.count > 0)
    flops = encode(message.shard, message.to, *answer);
  if (State* state = message.as<State>()) state->view = view();
  outgoing_.push_back({std::move(message), flops});
}

void ServerRole::send_again(Message message) {
  const std::size_t before = outgoing_.size();
  send(std::move(message));
  if (outgoing_.size() > before) outgoing_.back().is_new = false;  // else it is for this server
}

// Puts the answer through the filters between this shard and its worker; returns what that costs.
double ServerRole::encode(std::uint32_t shard, NodeId to, Answer& answer) {
  Encoded encoded;
  Payload& weights = answer.weights;
  const std::int64_t version = weights.values.version;
  if (filtered_) {
    const auto [it, is_new] = filters_.try_emplace({shard, to});
    if (is_new) it->second = world_.make_chain(shard, to, false);
    it->second->answer_to(answer.number, answer.answered);
    encoded = it->second->encode(weights.values, weights.keys);
  } else {
    encoded = FilterChain::plain(weights.values, weights.keys, world_.precision(),
                                 world_.scenario.messages.key_bytes());
  }
  const double flops = encoded.flops;
  encoded.values.version = version;
  weights = payload_of(std::move(encoded));
  weights.bytes -= mutant("answers-look-smaller") ? 4 : 0;
  const auto server = shards_.find(shard);
  if (filtered_ && server != shards_.end()) server->second.was_sent_filtered(to, weights.values);
  return flops;
}

void ServerRole::announce(UpdateGroup group) {
  Message message{
      .from = node_, .shard = current_, .epoch = find(current_)->epoch(), .body = std::move(group)};
  const std::vector<std::size_t> load = world_.keys.load(world_.servers());
  for (std::uint32_t s = 0; s < world_.servers(); ++s) {
    message.to = world_.first_server() + s;
    const auto owns = [&](const auto& entry) { return entry.second.primary == message.to; };
    const bool hears = owners_.empty() ? load[s] > 0 : std::ranges::any_of(owners_, owns);
    if (message.to != node_ && hears) outgoing_.push_back({message, 0});
  }
  announced_.push_back(std::move(message));  // to the other shards here, when this one is done
}

// A push may wait for others of its group. Where the model lets a worker go on at once, these may be its own
// next ones; and a shard that has had all its updates makes no group any more. A worker that waited until its
// push is applied would then wait for ever.
bool ServerRole::acknowledges_arrival() const {
  if (world_.rule.gate == Gate::none) return true;
  const auto shard = shards_.find(current_);
  return world_.rule.fresh && shard != shards_.end() && shard->second.version() >= world_.steps;
}

void ServerRole::acknowledge(const Push& push) {
  if (!world_.scenario.messages.acknowledge || world_.scenario.may_fail()) return;
  outgoing_.push_back(
      {{.from = node_, .to = push.worker, .shard = current_, .body = Ack{.number = push.number}}, 0});
}

void ServerRole::applied(const Push& push, std::int64_t staleness) {
  world_.record_push(EventKind::apply, node_, current_, push, staleness);
  if (!acknowledges_arrival()) acknowledge(push);
}

void ServerRole::dropped(const Push& push) {
  world_.record_push(EventKind::drop, node_, current_, push, 0);
  if (!acknowledges_arrival()) acknowledge(push);
}

void ServerRole::refused(const Push& push) { world_.record_push(EventKind::drop, node_, current_, push, 3); }

// The one before it is acknowledged when it is applied or dropped; or it will come again.
void ServerRole::duplicate(const Push& push) {
  world_.record_push(EventKind::drop, node_, current_, push, 2);
}

void ServerRole::discard(std::uint32_t shard, const Push& push) {
  world_.record_push(EventKind::drop, node_, shard, push, 1);
}

void ServerRole::discard_pending(const ShardServer& server) {
  if (!server.leads()) return;
  for (const Push& push : server.pending()) discard(server.shard(), push);
  for (const Push& push : server.early()) discard(server.shard(), push);
  World::Last& last = world_.last_weights[server.shard()];
  if (server.epoch() >= last.epoch) last = {server.epoch(), server.state().snapshot()};
}

void ServerRole::discard_rest() {
  if (!ended_) {
    for (const auto& [shard, server] : shards_) discard_pending(server);
  }
  const auto discard_push = [this](const Message& message) {
    if (const Push* push = message.as<Push>()) discard(message.shard, *push);
  };
  if (in_hand_) discard_push(*in_hand_);
  std::ranges::for_each(std::exchange(early_, {}), discard_push);
}

// The push in hand is paid for, and found to be late when that is over.
void ServerRole::end() {
  for (const auto& [shard, server] : shards_) discard_pending(server);
  ended_ = true;
}

void ServerRole::updated(std::int64_t version) {
  const ShardServer* server = find(current_);
  const std::uint64_t hash =
      world_.scenario.replication.copies > 0 && server != nullptr ? hash_of(*server) : 0;
  world_.recorder.record({.at = Agenda::now(),
                          .kind = EventKind::update,
                          .node = node_,
                          .version = version,
                          .bytes = hash,
                          .shard = world_.first_shard + current_,
                          .detail = server != nullptr ? hash_of_state(*server, hash) : 0});
  if (server != nullptr && world_.rule.fresh && version == world_.steps) {  // no group will have them
    for (const Push& push : server->pending()) acknowledge(push);
  }
  if (world_.on_update) world_.on_update();
}

std::uint64_t ServerRole::hash_of(const ShardServer& server) const {
  const Slice weights = server.state().snapshot();
  return weights.values ? XXH3_64bits(weights.values->raw(), weights.values->bytes()) : 0;
}

// It costs a pass over the optimizer's state, so only where a copy may differ.
std::uint64_t ServerRole::hash_of_state(const ShardServer& server, std::uint64_t hash_of_weights) const {
  return world_.scenario.replication.copies > 0 ? server.state().weights.hash(hash_of_weights) : 0;
}

void ServerRole::copied(NodeId replica) {
  world_.record(EventKind::copied, node_, 0, find(current_)->version(), replica, 0, current_);
}

void ServerRole::counted(NodeId node, const WorkerClocks::Worker& worker) {
  world_.recorder.record({.at = Agenda::now(),
                          .kind = EventKind::member,
                          .node = node_,
                          .peer = node,
                          .clock = worker.gone ? 0 : (worker.behind ? 2 : 1),
                          .version = worker.arrived,
                          .bytes = static_cast<std::uint64_t>(worker.ahead),
                          .value = worker.applied,
                          .shard = world_.first_shard + current_});
}

}  // namespace psim
