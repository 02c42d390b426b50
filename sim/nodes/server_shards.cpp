#include "sim/nodes/server_shards.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "sim/nodes/processor.hpp"

namespace psim {

namespace {

// What is pushed is no gradient: it is added as it is.
bool adds(const JobContext& job) { return job.plan.elastic() || job.plan.workers_step(); }

ShardWeights::Options weights_options(const JobContext& job, const Shard& shard) {
  const TrainingSpec& training = job.plan.scenario.training;
  const bool is_sparse = job.plan.scenario.model.kind == ModelKind::logistic;
  // Workers that update need every sum before their next step: nothing is stale.
  const bool compensates = !job.plan.workers_sum();
  ShardWeights::Options options{.optimizer = adds(job) ? OptimizerSpec{.kind = "sgd"} : training.optimizer,
                                .storage = job.plan.storage(),
                                .loss_scale = job.plan.loss_scale(),
                                .ranges = is_sparse ? shard.ranges : std::vector<Range>{},
                                .feature_blocks = training.feature_blocks,
                                .parameters = static_cast<std::int64_t>(job.plan.keys.parameters),
                                .sum_only = job.plan.workers_sum(),
                                .bytes_per_key = job.plan.bytes_per_key()};
  if (compensates) options.compensation = {training.delay_compensation, training.delay_compensation_decay};
  return options;
}

}  // namespace

Release cause_of(const Message& message) {
  Release cause{.reason = Reason::state, .message = message.sent, .sender = message.from};
  if (const Push* push = message.as<Push>()) {
    cause.reason = Reason::push;
    cause.push = push->number;
  } else if (const Pull* pull = message.as<Pull>()) {
    cause.reason = Reason::pull;
    cause.worker = message.from;
    cause.pull = pull->number;
  } else if (message.is<UpdateGroup>() || message.is<Call>()) {
    cause.reason = Reason::decision;
  } else if (message.is<Replicated>()) {
    cause.reason = Reason::confirmation;
  }
  return cause;
}

ServerShards::ServerShards(JobContext& job, std::uint32_t server)
    : job_(job),
      node_(job.plan.first_server() + server),
      ended_(job.state.over),
      filtered_(!filters_on(job.plan.scenario.filters, false).empty()) {}

ShardServer::Options ServerShards::options_of(std::uint32_t shard) const {
  const JobContext& job = job_;
  const Shard& part = keys().shards[shard];
  const TrainingSpec& training = job.plan.scenario.training;
  return {.id = node_,
          .state = {.shard = shard,
                    .shards = static_cast<std::uint32_t>(keys().shards.size()),
                    .first_worker = job.plan.first_worker(),
                    .rule = job.plan.rule_of(part),
                    .steps = job.plan.steps,
                    .batch_size = training.batch_size,
                    .learning_rate = adds(job) ? LearningRate{.base = 1} : job.plan.learning_rate(),
                    .exactly_once = job.plan.scenario.recovery.semantics == Semantics::exactly_once,
                    .epochs = job.plan.epochs(),
                    .weights = weights_options(job, part),
                    .part = part.part},
          .confirms = job.plan.scenario.may_fail(),
          .replication = job.plan.scenario.replication,
          .resend = job.plan.retry(),
          .checked = checks_invariants()};
}

void ServerShards::own(std::uint32_t shard, std::optional<Values> weights) {
  shards_.try_emplace(shard, options_of(shard), std::move(weights), keys().shards[shard].count);
}

ServerRanges ServerShards::ranges() const {
  ServerRanges all;
  for (const auto& [shard, server] : shards_) {
    all.now += server.state().range_clock.ranges();
    all.split_off += server.state().range_splits;
  }
  return all;
}

// A snapshot from before a cut still says that it is of the whole shard.
ShardServer& ServerShards::received(std::uint32_t shard, const State& state) {
  ShardServer::Options options = options_of(shard);
  State own = state;
  if (view_ && view_->layout)
    own.shard = std::make_shared<const ShardState>(state.shard->piece(options.state));
  return shards_.insert_or_assign(shard, ShardServer(std::move(options), own)).first->second;
}

ShardServer& ServerShards::first_state(std::uint32_t shard) {
  const Shard& part = keys().shards[shard];
  return shards_.insert_or_assign(shard, ShardServer(options_of(shard), job_.plan.initial(part), part.count))
      .first->second;
}

bool ServerShards::on(const Message& message) {
  const Push* push = message.as<Push>();
  if (ended_ && push != nullptr) {
    discard(message.shard, *push);
    return true;
  }
  if (are_gone()) return true;
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

std::optional<double> ServerShards::next_closing() const {
  std::optional<double> first;
  if (ended_) return first;
  for (const auto& [shard, server] : shards_) {
    if (const auto date = server.closes_at()) first = std::min(first.value_or(*date), *date);
  }
  return first;
}

void ServerShards::close_updates(double now) {
  because({.reason = Reason::date});
  for (auto& [shard, server] : shards_) {
    act_as(shard);
    if (const std::int64_t cause = causes_.closing(server, now); cause >= 0)
      job_.recorder.course().goes_on(Agenda::now(), {cause});
    server.close(now, *this);
    send_all();
  }
}

void ServerShards::take_announced() {
  for (; !announced_.empty(); announced_.pop_front()) on(announced_.front());
}

void ServerShards::act(std::pair<const std::uint32_t, ShardServer>& entry, const Message& message) {
  current_ = entry.first;
  // What this server decides has its own cause.
  if (message.sent && !(takes_early_ && message.is<Pull>())) cause_ = cause_of(message);
  causes_.arrives(message);
  const Push* push = message.as<Push>();
  if (push != nullptr) count(current_, push->gradient.values.count);
  if (push != nullptr && acknowledges_arrival()) acknowledge(*push);
  entry.second.on(message, Agenda::now(), *this);
  send_all();
}

void ServerShards::send_all() {
  for (Outgoing& outgoing : outgoing_) {
    if (outgoing.flops > 0) {
      const Serving serving(job_, node_, {});
      compute(job_, node_, outgoing.flops);
    }
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
  if (message.is<Answer>()) {
    const std::int64_t released = release(message);
    if (released >= 0) message.because = {released};
    else message.needs = causes_.of_answer(message, find(message.shard));
  }
  if (Answer* answer = message.as<Answer>(); answer != nullptr && answer->weights.values.count > 0)
    flops = encode(message.shard, message.to, *answer);
  if (const Answer* answer = message.as<Answer>()) count(message.shard, answer->weights.values.count);
  if (State* state = message.as<State>()) state->view = view();
  outgoing_.push_back({std::move(message), flops});
}

// Records why a pull is answered now that was not at once; -1: it is.
std::int64_t ServerShards::release(const Message& message) {
  const Answer& answer = *message.as<Answer>();
  if (cause_.reason == Reason::pull && cause_.worker == message.to && cause_.pull == answer.number) return -1;
  Release record = cause_;
  record.shard = job_.plan.first_shard + message.shard;
  record.worker = message.to;
  record.pull = answer.number;
  record.clock = answer.clock;
  record.version = answer.version;
  return job_.record(node_, record, {}, causes_.of_answer(message, find(message.shard)));
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
    if (is_new) it->second = job_.make_chain(shard, keys().shards[shard], to, false);
    it->second->answer_to(answer.number, answer.answered);
    encoded = it->second->encode(weights.values, weights.keys);
  } else {
    encoded = FilterChain::plain(weights.values, weights.keys, job_.plan.precision(),
                                 job_.plan.scenario.messages.key_bytes());
  }
  const double flops = encoded.flops;
  encoded.values.version = version;
  weights = payload_of(std::move(encoded));
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
  return job_.plan.rule.drops_stale && shard != shards_.end() && shard->second.version() >= job_.plan.steps;
}

void ServerShards::acknowledge(const Push& push) {
  if (!job_.plan.scenario.messages.acknowledge || job_.plan.scenario.may_fail()) return;
  outgoing_.push_back(
      {{.from = node_, .to = push.worker, .shard = current_, .body = Ack{.number = push.number}}, 0});
}

void ServerShards::record_push(Outcome outcome, std::uint32_t shard, const Push& push,
                               std::optional<std::int64_t> staleness) {
  PushOutcome record{.outcome = outcome,
                     .shard = job_.plan.first_shard + shard,
                     .worker = push.worker,
                     .push = push.number,
                     .clock = push.clock,
                     .version = push.version,
                     .staleness = staleness};
  if (staleness) record.made_version = find(shard)->version() + 1;
  const std::int64_t arrival = causes_.take(shard, push.id());
  Dependencies needs;
  if (arrival >= 0 && outcome != Outcome::unused) needs.push_back({.event = arrival});
  // The end of the run makes a push unused, and that is no event.
  const std::optional<Cause> cause = outcome == Outcome::unused ? std::optional(Cause{}) : std::nullopt;
  causes_.has_outcome(shard, push.id(), job_.record(node_, record, cause, needs));
}

void ServerShards::applied(const Push& push, std::int64_t staleness) {
  record_push(Outcome::applied, current_, push, staleness);
  if (!acknowledges_arrival()) acknowledge(push);
}

void ServerShards::dropped(const Push& push) {
  record_push(Outcome::late, current_, push);
  if (!acknowledges_arrival()) acknowledge(push);
}

void ServerShards::refused(const Push& push) { record_push(Outcome::refused, current_, push); }

// The one before it is acknowledged when it is applied or dropped; or it will come again.
void ServerShards::drop_duplicate(std::uint32_t shard, const Push& push) {
  record_push(Outcome::duplicate, shard, push);
}

void ServerShards::discard(std::uint32_t shard, const Push& push) {
  record_push(Outcome::unused, shard, push);
}

void ServerShards::discard_all() {
  if (ended_) return;
  for (const auto& [shard, server] : shards_) discard_pending(server);
}

void ServerShards::discard_pending(const ShardServer& server) {
  if (!server.leads()) return;
  if (!ended_) {  // else they are discarded already
    for (const Push& push : server.pending()) discard(server.shard(), push);
    for (const Push& push : server.early()) discard(server.shard(), push);
  }
  const KeySpace& newest = job_.plan.keys_in(job_.state.layout.get());
  job_.state.was_last(newest, server.state().options.part, server.epoch(), server.state().snapshot());
}

// The push in hand is paid for, and found to be late when that is over.
void ServerShards::end() {
  discard_all();
  ended_ = true;
}

void ServerShards::updated(std::int64_t version) {
  const ShardServer* server = find(current_);
  const Hashes hashes = server != nullptr ? hashes_of(*server) : Hashes{};
  causes_.makes(current_, version,
                job_.record(node_, ModelUpdate{job_.plan.first_shard + current_, version, hashes.weights,
                                               hashes.state}));
  if (server != nullptr && job_.plan.rule.drops_stale &&
      version == job_.plan.steps) {  // no group will have them
    for (const Push& push : server->pending()) acknowledge(push);
  }
  job_.observer.on_version();
}

void ServerShards::promoted() {
  const ShardServer& server = *find(current_);
  for (auto& [ends, chain] : filters_) {
    if (ends.first == current_) chain->forget_keys();  // another owner may have sent lists meanwhile
  }
  const auto [weights, state] = hashes_of(server);
  job_.record(node_, Promotion{.shard = job_.plan.first_shard + current_,
                               .epoch = server.epoch(),
                               .version = server.version(),
                               .updated_in = server.state().updated_in,
                               .weights_hash = weights,
                               .state_hash = state,
                               .waiting_pushes = ended_ ? 0 : std::ssize(server.pending())});
  job_.observer.on_version();
}

std::shared_ptr<const Parameters> ServerShards::first_copy() {
  std::optional<Values> weights = job_.plan.initial(keys().shards[current_]);
  if (!weights) return {};
  return std::make_shared<const Parameters>(job_.plan.scenario.training.optimizer, job_.plan.storage(),
                                            std::move(*weights));
}

// They cost a pass over weights and optimizer's state, so only where a copy may differ.
ServerShards::Hashes ServerShards::hashes_of(const ShardServer& server) const {
  const Slice weights = server.state().snapshot();
  const bool has_weights = weights.values && !job_.plan.workers_sum();
  if (job_.plan.scenario.replication.copies == 0 || !has_weights) return {};
  const std::uint64_t hash = XXH3_64bits(weights.values->raw(), weights.values->bytes());
  return {hash, server.state().aggregation.hash(server.state().weights.hash(hash))};
}

void ServerShards::copied(NodeId replica) {
  job_.record(node_, Copy{job_.plan.first_shard + current_, replica, find(current_)->version()});
}

void ServerShards::membership_changed(NodeId node, const WorkerClocks::Worker& worker) {
  job_.record(node_, Membership{.shard = job_.plan.first_shard + current_,
                                .worker = node,
                                .takes_part = !worker.gone,
                                .is_awaited = !worker.gone && !worker.rejoining,
                                .applied = worker.applied,
                                .arrived = worker.arrived,
                                .skipped_clocks = worker.skipped_clocks});
}

}  // namespace psim
