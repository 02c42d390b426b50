#include "sim/roles/server_shards.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "model/mutant.hpp"
#include "sim/roles/processor.hpp"

namespace psim {

namespace {

ShardWeights::Options weights_options(const JobContext& job, std::uint32_t shard) {
  const TrainingSpec& training = job.plan.scenario.training;
  const bool is_sparse = job.plan.scenario.model.kind == ModelKind::logistic;
  // Workers that update need every sum before their next step: nothing is stale.
  const bool compensates = !job.plan.workers_update() || mutant("sums-are-compensated");
  ShardWeights::Options options{
      .optimizer = job.plan.elastic() ? OptimizerSpec{.kind = OptimizerKind::sgd} : training.optimizer,
      .storage = job.plan.storage(),
      .loss_scale = job.plan.loss_scale(),
      .ranges = is_sparse ? job.plan.keys.shards[shard].ranges : std::vector<Range>{},
      .feature_blocks = training.feature_blocks,
      .parameters = static_cast<std::int64_t>(job.plan.keys.parameters),
      .sum_only = job.plan.workers_update(),
      .bytes_per_key = job.plan.bytes_per_key()};
  if (compensates) options.compensation = {training.delay_compensation, training.delay_compensation_decay};
  return options;
}

}  // namespace

ServerShards::ServerShards(JobContext& job, std::uint32_t server)
    : job_(job),
      node_(job.plan.first_server() + server),
      filtered_(!filters_on(job.plan.scenario.filters, false).empty()) {}

ShardServer::Options ServerShards::options_of(std::uint32_t shard) const {
  const JobContext& job = job_;
  const TrainingSpec& training = job.plan.scenario.training;
  return {.id = node_,
          .state = {.shard = shard,
                    .shards = static_cast<std::uint32_t>(job.plan.keys.shards.size()),
                    .first_worker = job.plan.first_worker(),
                    .rule = job.plan.rule,
                    .steps = job.plan.steps,
                    .batch_size = training.batch_size,
                    .clock_samples = job.plan.steals() ? training.batch_size * job.plan.workers() : 0,
                    .learning_rate = job.plan.elastic() ? LearningRate{.base = 1} : job.plan.learning_rate(),
                    .staleness_aware = training.staleness_aware,
                    .exactly_once = job.plan.scenario.recovery.semantics == Semantics::exactly_once,
                    .epochs = job.plan.epochs(),
                    .weights = weights_options(job, shard)},
          .confirms = job.plan.scenario.may_fail(),
          .replication = job.plan.scenario.replication,
          .resend = job.plan.retry()};
}

void ServerShards::own(std::uint32_t shard, std::optional<Values> weights) {
  shards_.try_emplace(shard, options_of(shard), std::move(weights), job_.plan.keys.shards[shard].count);
}

ServerRanges ServerShards::ranges() const {
  ServerRanges all;
  for (const auto& [shard, server] : shards_) {
    all.now += server.state().range_clock.ranges();
    all.split_off += server.state().range_splits;
  }
  return all;
}

ShardServer& ServerShards::received(std::uint32_t shard, const State& state) {
  return shards_.insert_or_assign(shard, ShardServer(options_of(shard), state)).first->second;
}

ShardServer& ServerShards::first_state(std::uint32_t shard) {
  const Shard& part = job_.plan.keys.shards[shard];
  return shards_.insert_or_assign(shard, ShardServer(options_of(shard), job_.plan.initial(shard), part.count))
      .first->second;
}

bool ServerShards::on(const Message& message) {
  const Push* push = message.as<Push>();
  if (ended_) {
    if (push != nullptr) discard(message.shard, *push);
    return true;
  }
  if (message.is<UpdateGroup>()) {
    on_decision(message);
    return true;
  }
  const auto entry = shards_.find(message.shard);
  current_ = message.shard;
  if (entry != shards_.end()) act(*entry, message);
  else if (push != nullptr) refused(*push);  // for another owner
  return entry != shards_.end();
}

// What the first shard's owner has decided is for all other shards here, in whatever epoch they are.
void ServerShards::on_decision(const Message& group) {
  const auto owner = owners_.find(group.shard);
  if (owner != owners_.end() && group.epoch != owner->second.epoch) return;
  Message own = group;
  for (auto& entry : shards_) {
    own.epoch = entry.second.epoch();
    if (entry.first != group.shard) act(entry, own);
  }
}

void ServerShards::take_announced() {
  for (; !announced_.empty(); announced_.pop_front()) on(announced_.front());
}

void ServerShards::act(std::pair<const std::uint32_t, ShardServer>& entry, const Message& message) {
  current_ = entry.first;
  if (const Push* push = message.as<Push>(); push != nullptr && acknowledges_arrival()) acknowledge(*push);
  entry.second.on(message, Agenda::now(), *this);
  send_all();
}

void ServerShards::send_all() {
  for (Outgoing& outgoing : outgoing_) {
    if (outgoing.flops > 0 && !mutant("answers-are-filtered-for-nothing"))
      compute(job_, node_, outgoing.flops);
    outgoing.message.shard += job_.plan.first_shard;
    if (outgoing.is_new) job_.network.send(std::move(outgoing.message));
    else job_.network.send_once(std::move(outgoing.message));
  }
  outgoing_.clear();
}

void ServerShards::send(Message message) {
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

void ServerShards::send_again(Message message) {
  const std::size_t before = outgoing_.size();
  send(std::move(message));
  if (outgoing_.size() > before) outgoing_.back().is_new = false;  // else it is for this server
}

// Puts the answer through the filters between this shard and its worker; returns what that costs.
double ServerShards::encode(std::uint32_t shard, NodeId to, Answer& answer) {
  Encoded encoded;
  Payload& weights = answer.weights;
  const std::int64_t version = weights.values.version;
  if (filtered_) {
    const auto [it, is_new] = filters_.try_emplace({shard, to});
    if (is_new) it->second = job_.make_chain(shard, to, false);
    it->second->answer_to(answer.number, answer.answered);
    encoded = it->second->encode(weights.values, weights.keys);
  } else {
    encoded = FilterChain::plain(weights.values, weights.keys, job_.plan.precision(),
                                 job_.plan.scenario.messages.key_bytes());
  }
  const double flops = encoded.flops;
  encoded.values.version = version;
  weights = payload_of(std::move(encoded));
  weights.bytes -= mutant("answers-look-smaller") ? 4 : 0;
  const auto server = shards_.find(shard);
  if (filtered_ && server != shards_.end()) server->second.was_sent_filtered(to, weights.values);
  return flops;
}

void ServerShards::announce(UpdateGroup group) {
  Message message{
      .from = node_, .shard = current_, .epoch = find(current_)->epoch(), .body = std::move(group)};
  const std::vector<std::size_t> load = job_.plan.keys.load(job_.plan.servers());
  for (std::uint32_t s = 0; s < job_.plan.servers(); ++s) {
    message.to = job_.plan.first_server() + s;
    const auto owns = [&](const auto& entry) { return entry.second.primary == message.to; };
    const bool hears = owners_.empty() ? load[s] > 0 : std::ranges::any_of(owners_, owns);
    if (message.to != node_ && hears) outgoing_.push_back({message, 0});
  }
  announced_.push_back(std::move(message));  // to the other shards here, when this one is done
}

// A push may wait for others of its group. Where the model lets a worker go on at once, these may be its own
// next ones; and a shard that has had all its updates makes no group any more. A worker that waited until its
// push is applied would then wait for ever.
bool ServerShards::acknowledges_arrival() const {
  if (job_.plan.rule.gate == Gate::none) return true;
  const auto shard = shards_.find(current_);
  return job_.plan.rule.fresh && shard != shards_.end() && shard->second.version() >= job_.plan.steps;
}

void ServerShards::acknowledge(const Push& push) {
  if (!job_.plan.scenario.messages.acknowledge || job_.plan.scenario.may_fail()) return;
  outgoing_.push_back(
      {{.from = node_, .to = push.worker, .shard = current_, .body = Ack{.number = push.number}}, 0});
}

void ServerShards::applied(const Push& push, std::int64_t staleness) {
  job_.record_push(EventKind::apply, node_, current_, push, staleness);
  if (!acknowledges_arrival()) acknowledge(push);
}

void ServerShards::dropped(const Push& push) {
  job_.record_push(EventKind::drop, node_, current_, push, 0);
  if (!acknowledges_arrival()) acknowledge(push);
}

void ServerShards::refused(const Push& push) { job_.record_push(EventKind::drop, node_, current_, push, 3); }

// The one before it is acknowledged when it is applied or dropped; or it will come again.
void ServerShards::drop_duplicate(std::uint32_t shard, const Push& push) {
  job_.record_push(EventKind::drop, node_, shard, push, 2);
}

void ServerShards::discard(std::uint32_t shard, const Push& push) {
  job_.record_push(EventKind::drop, node_, shard, push, 1);
}

void ServerShards::discard_all() {
  if (ended_) return;
  for (const auto& [shard, server] : shards_) discard_pending(server);
}

void ServerShards::discard_pending(const ShardServer& server) {
  if (!server.leads()) return;
  for (const Push& push : server.pending()) discard(server.shard(), push);
  for (const Push& push : server.early()) discard(server.shard(), push);
  JobState::Last& last = job_.state.last_weights[server.shard()];
  if (server.epoch() >= last.epoch) last = {server.epoch(), server.state().snapshot()};
}

// The push in hand is paid for, and found to be late when that is over.
void ServerShards::end() {
  discard_all();
  ended_ = true;
}

void ServerShards::updated(std::int64_t version) {
  const ShardServer* server = find(current_);
  const std::uint64_t hash =
      job_.plan.scenario.replication.copies > 0 && server != nullptr ? hash_of(*server) : 0;
  job_.recorder.record({.at = Agenda::now(),
                        .kind = EventKind::update,
                        .node = node_,
                        .version = version,
                        .bytes = hash,
                        .shard = job_.plan.first_shard + current_,
                        .detail = server != nullptr ? hash_of_state(*server, hash) : 0});
  if (server != nullptr && job_.plan.rule.fresh && version == job_.plan.steps) {  // no group will have them
    for (const Push& push : server->pending()) acknowledge(push);
  }
  job_.observer.on_update();
}

void ServerShards::promoted() {
  const ShardServer& server = *find(current_);
  const std::uint64_t hash = hash_of(server);
  job_.recorder.record({.at = Agenda::now(),
                        .kind = EventKind::promote,
                        .node = node_,
                        .clock = server.epoch(),
                        .version = server.version(),
                        .bytes = hash,
                        .value = server.state().updated_in,
                        .shard = current_,
                        .detail = hash_of_state(server, hash),
                        .content = {.ids = static_cast<std::uint32_t>(server.pending().size())}});
}

std::uint64_t ServerShards::hash_of(const ShardServer& server) const {
  const Slice weights = server.state().snapshot();
  return weights.values ? XXH3_64bits(weights.values->raw(), weights.values->bytes()) : 0;
}

// It costs a pass over the optimizer's state, so only where a copy may differ.
std::uint64_t ServerShards::hash_of_state(const ShardServer& server, std::uint64_t hash_of_weights) const {
  return job_.plan.scenario.replication.copies > 0 ? server.state().weights.hash(hash_of_weights) : 0;
}

void ServerShards::copied(NodeId replica) {
  job_.record(EventKind::copied, node_, 0, find(current_)->version(), replica, 0, current_);
}

void ServerShards::counted(NodeId node, const WorkerClocks::Worker& worker) {
  job_.recorder.record({.at = Agenda::now(),
                        .kind = EventKind::member,
                        .node = node_,
                        .peer = node,
                        .clock = worker.gone ? 0 : (worker.behind ? 2 : 1),
                        .version = worker.arrived,
                        .bytes = static_cast<std::uint64_t>(worker.ahead),
                        .value = worker.applied,
                        .shard = job_.plan.first_shard + current_});
}

}  // namespace psim
