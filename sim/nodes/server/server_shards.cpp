#include "sim/nodes/server/server_shards.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "sim/nodes/job/processor.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

constexpr std::size_t most_entries = 1024;  // entries that are kept; older ones are never used

using Entry = std::pair<std::int64_t, std::int64_t>;

void add(auto& all, std::int64_t number, std::int64_t event) {
  while (!all.empty() && all.back().first >= number) all.pop_back();  // the shard was set back
  all.emplace_back(number, event);
}

}  // namespace

ShardCauses::OfWorker& ShardCauses::of(std::uint32_t number, NodeId worker) {
  OfShard& shard = shards_[number];
  if (worker >= shard.workers.size()) shard.workers.resize(std::max<std::size_t>(worker + 1, nodes_));
  return shard.workers[worker];
}

// Later pulls follow at least as many pushes. So no later pull needs the earlier outcomes.
void ShardCauses::arrives(const Message& message) {
  if (const Push* push = message.as<Push>()) {
    OfShard& shard = shards_[message.shard];
    if (shard.newest.event >= 0) shard.before[shard.newest.push] = shard.newest.event;
    shard.before.erase(push->id());
    shard.newest = {push->id(), message.because.event};
  } else if (const Pull* pull = message.as<Pull>()) {
    OfWorker& worker = of(message.shard, message.from);
    worker.arrival = message.because.event;
    worker.above = pull->above;
    worker.pushes = pull->pushes_sent.value_or(0);
    const auto later = std::ranges::lower_bound(worker.outcomes, worker.pushes, {}, &Entry::first);
    if (later - worker.outcomes.begin() > 1) worker.outcomes.erase(worker.outcomes.begin(), later - 1);
  }
}

std::int64_t ShardCauses::take(std::uint32_t number, const PushId& push) {
  OfShard& shard = shards_[number];
  if (shard.newest.event >= 0 && shard.newest.push == push) return std::exchange(shard.newest.event, -1);
  const auto arrival = shard.before.extract(push);
  return arrival.empty() ? -1 : arrival.mapped();
}

std::int64_t ShardCauses::arrival_of(std::uint32_t number, const PushId& push) const {
  const auto found = shards_.find(number);
  if (found == shards_.end()) return -1;
  const OfShard& shard = found->second;
  if (shard.newest.push == push) return shard.newest.event;
  const auto arrival = shard.before.find(push);
  return arrival == shard.before.end() ? -1 : arrival->second;
}

void ShardCauses::has_outcome(std::uint32_t shard, const PushId& push, std::int64_t event) {
  auto& outcomes = of(shard, push.worker).outcomes;
  add(outcomes, push.number, event);
  if (outcomes.size() == 2 * most_entries) outcomes.erase(outcomes.begin(), outcomes.begin() + most_entries);
}

void ShardCauses::makes(std::uint32_t shard, std::int64_t version, std::int64_t event) {
  auto& versions = shards_[shard].versions;
  add(versions, version, event);
  if (versions.size() > most_entries) versions.pop_front();
}

std::int64_t ShardCauses::closing(std::uint32_t number, bool by_window) const {
  const auto shard = shards_.find(number);
  if (shard == shards_.end()) return -1;
  if (!by_window) return shard->second.versions.empty() ? -1 : shard->second.versions.back().second;
  std::int64_t first = shard->second.newest.event;
  for (const auto& [push, arrival] : shard->second.before) {
    if (first < 0 || arrival < first) first = arrival;
  }
  return first;
}

std::int64_t ShardCauses::closing(const ShardServer& server, double now) const {
  const std::optional<double> date = server.closes_at(now);
  if (!date || *date > now) return -1;
  const ShardState& state = server.state();
  if (const auto quorum = state.updates.closes_by_grace(state.view(now), state.memory))
    return arrival_of(server.shard(), *quorum);
  return closing(server.shard(), state.updates.closes_by_window(state.view(now), state.memory));
}

Dependencies ShardCauses::of_answer(const Message& answer, const ShardServer* server) const {
  Dependencies needs = of_answer(answer.shard, answer.to);
  if (server == nullptr) return needs;
  const ShardState& state = server->state();
  const NodeId first = state.options.first_worker;
  if (answer.to < first || answer.to >= first + state.workers.size()) return needs;  // an inference node
  const std::optional<std::int64_t> clock = state.policy().needed_clock(
      {.clocks = state.workers, .worker = state.index_of(answer.to), .clock = answer.as<Answer>()->clock},
      state.memory);
  if (clock) needs.push_back({.clock = clock});
  return needs;
}

Dependencies ShardCauses::of_answer(std::uint32_t number, NodeId node) const {
  Dependencies needs;
  const auto shard = shards_.find(number);
  if (shard == shards_.end() || node >= shard->second.workers.size()) return needs;
  const OfWorker& worker = shard->second.workers[node];
  if (worker.arrival < 0) return needs;
  needs.push_back({.event = worker.arrival});
  const auto later = std::ranges::lower_bound(worker.outcomes, worker.pushes, {}, &Entry::first);
  if (later != worker.outcomes.begin()) needs.push_back({.event = std::prev(later)->second});
  const auto& versions = shard->second.versions;
  const auto newer = std::ranges::upper_bound(versions, worker.above, {}, &Entry::first);
  if (worker.above >= 0 && newer != versions.end()) needs.push_back({.event = newer->second});
  return needs;
}

double AnswerFilters::encode(std::uint32_t shard, const Shard& place, NodeId to, Answer& answer) {
  Encoded encoded;
  Payload& weights = answer.weights;
  const std::int64_t version = weights.values.version;
  if (are_on_) {
    const auto [it, is_new] = chains_.try_emplace({shard, to});
    if (is_new) it->second = job_.make_chain(shard, place, to, false);
    it->second->answer_to(answer.number, answer.answered);
    encoded = it->second->encode(weights.values, weights.keys);
  } else {
    encoded = FilterChain::plain(weights.values, weights.keys, job_.plan.precision(), job_.plan.key_bytes());
  }
  const double flops = encoded.flops;
  encoded.values.version = version;
  weights = payload_of(std::move(encoded));
  return flops;
}

void AnswerFilters::forget_keys(std::uint32_t shard) {
  for (auto& [ends, chain] : chains_) {
    if (ends.first == shard) chain->forget_keys();
  }
}

void AnswerFilters::erase(std::uint32_t shard) {
  std::erase_if(chains_, [shard](const auto& entry) { return entry.first.first == shard; });
}

namespace {

ShardWeights::Options weights_options(const JobContext& job, const Shard& shard) {
  const TrainingSpec& training = job.plan.scenario.training;
  const bool is_sparse = job.plan.scenario.model.kind->is_sparse;
  // If workers update, they need every sum before their next step. So no gradient is stale.
  const bool compensates = !job.plan.workers_sum();
  ShardWeights::Options options{.optimizer = job.plan.with_arrays(job.plan.update_optimizer(), shard.ranges),
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
      ended_(job.state.progress.is_over()),
      causes_(job.plan.past_workers()),
      filters_(job),
      loads_(job.plan.scenario.recovery.rebalance == Rebalance::load) {}

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
                    .learning_rate = job.plan.update_rate(),
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

// A snapshot from before a cut is still marked as the whole shard.
ShardServer& ServerShards::received(std::uint32_t shard, const State& state) {
  expects(state.shard != nullptr, "a received state has a shard");
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

ShardServer ServerShards::part_of(const ShardServer& whole, std::uint32_t shard) const {
  ShardServer::Options options = options_of(shard);
  State state = whole.whole_state();
  state.shard = std::make_shared<const ShardState>(state.shard->piece(options.state));
  ShardServer part(std::move(options), state);
  part.leave_log();
  return part;
}

std::set<std::uint32_t> ServerShards::cut() {
  std::set<std::uint32_t> led;
  const std::vector<Shard>& all = keys().shards;
  std::map<std::uint32_t, ShardServer> parts;
  for (const auto& [number, whole] : shards_) {
    const Part& here = whole.state().options.part;
    if (here == all[number].part) continue;
    discard_pending(whole);
    for (std::uint32_t s = 0; s < all.size(); ++s) {
      if (!here.covers(all[s].part)) continue;
      parts.emplace(s, part_of(whole, s));
      if (whole.leads()) led.insert(s);
    }
    filters_.erase(number);
  }
  for (auto& [shard, part] : parts) shards_.insert_or_assign(shard, std::move(part));
  return led;
}

bool ServerShards::on(const Message& message, const std::optional<Release>& because) {
  const Push* push = message.as<Push>();
  if (ended_ && push != nullptr) {
    discard(message.shard, *push);
    return true;
  }
  if (are_gone()) return true;
  const Release cause = because.value_or(cause_of(message));
  if (message.is<UpdateGroup>()) {
    on_decision(message, cause);
    return true;
  }
  ShardServer* const server = find(message.shard);
  if (server != nullptr) take(*server, message, cause);
  else if (push != nullptr) record_push(Outcome::refused, message.shard, *push);  // for another owner
  return server != nullptr;
}

// A decision of the first shard's owner holds for all other shards here, whatever their epochs are.
void ServerShards::on_decision(const Message& group, const Release& cause) {
  const auto owner = owners_.find(group.shard);
  if (owner != owners_.end() && group.epoch != owner->second.epoch) return;
  Message own = group;
  for (auto& [shard, server] : shards_) {
    own.epoch = server.epoch();
    if (shard != group.shard) take(server, own, cause);
  }
}

std::optional<double> ServerShards::next_closing() const {
  std::optional<double> first;
  if (ended_) return first;
  for (const auto& [shard, server] : shards_) {
    if (const auto date = server.closes_at(Agenda::now())) first = std::min(first.value_or(*date), *date);
  }
  return first;
}

void ServerShards::close_updates(double now) {
  for (auto& [shard, server] : shards_) {
    if (const std::int64_t cause = causes_.closing(server, now); cause >= 0)
      job_.recorder.causes().goes_on(Agenda::now(), {cause});
    act(server, {.reason = Reason::date}, [&server = server, now](Outbox& out) { server.close(now, out); });
    send_all();
  }
}

void ServerShards::take_announced() {
  for (; !announced_.empty(); announced_.pop_front())
    on(announced_.front().message, announced_.front().cause);
}

void ServerShards::act(ShardServer& server, const Release& cause, const std::function<void(Outbox&)>& what) {
  ShardOutbox out(*this, server.shard(), cause);
  what(out);
}

void ServerShards::take(ShardServer& server, const Message& message, const Release& cause) {
  ShardOutbox out(*this, server.shard(), cause);
  causes_.arrives(message);
  if (const Push* push = message.as<Push>()) {
    count(server.shard(), push->gradient.values.count);
    out.acknowledge_arrival(*push);
  }
  server.on(message, Agenda::now(), out);
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
    else if (job_.repeats(outgoing.message)) job_.network.send(std::move(outgoing.message));
  }
  outgoing_.clear();
}

// Encodes the answer, and returns the flops for this. The shard needs the values that its worker will decode.
double ServerShards::encode(std::uint32_t shard, NodeId to, Answer& answer) {
  const double flops = filters_.encode(shard, keys().shards[shard], to, answer);
  ShardServer* const server = find(shard);
  if (filters_.are_on() && server != nullptr) server->was_sent_filtered(to, answer.weights.values);
  return flops;
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
  // The end of the run makes a push unused, and this end is no event.
  const std::optional<Cause> cause = outcome == Outcome::unused ? std::optional(Cause{}) : std::nullopt;
  causes_.has_outcome(shard, push.id(), job_.record(node_, record, cause, needs));
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
  if (!ended_) {  // after the end they are already discarded
    PSIM_PROBE(!server.pending().empty(), "an owner loses pushes that wait");
    PSIM_PROBE(!server.early().empty(), "an owner loses pushes that came early");
    for (const Push& push : server.pending()) discard(server.shard(), push);
    for (const Push& push : server.early()) discard(server.shard(), push);
  }
  const KeySpace& newest = job_.plan.keys_in(job_.state.layouts.newest());
  job_.state.last_weights.keep(newest, server.state().options.part, server.epoch(),
                               server.state().snapshot());
}

// The server still spends the time of its current push, and then finds it late.
void ServerShards::end() {
  discard_all();
  ended_ = true;
}

void ShardOutbox::send(Message message) {
  if (message.is<Decide>()) {
    message.to = all_.owners_.at(0).primary;
    message.epoch = all_.owners_.at(0).epoch;
  }
  const bool is_decision = message.is<Decide>() || message.is<UpdateGroup>();
  if (is_decision && message.to == all_.node_) return all_.announced_.push_back({std::move(message), cause_});
  double flops = 0;
  if (message.is<Answer>()) {
    const std::int64_t released = release(message);
    if (released >= 0) message.because = {released};
    else message.needs = all_.causes_.of_answer(message, shard_server());
  }
  if (Answer* answer = message.as<Answer>(); answer != nullptr && answer->weights.values.count > 0)
    flops = all_.encode(message.shard, message.to, *answer);
  if (const Answer* answer = message.as<Answer>()) all_.count(message.shard, answer->weights.values.count);
  if (State* state = message.as<State>()) state->view = all_.view();
  all_.outgoing_.push_back({std::move(message), flops});
}

// Records why the server answers a waiting pull now. Returns -1 if the pull is answered at once.
std::int64_t ShardOutbox::release(const Message& message) {
  const Answer& answer = *message.as<Answer>();
  if (cause_.reason == Reason::pull && cause_.worker == message.to && cause_.pull == answer.number) return -1;
  Release record = cause_;
  record.shard = of_run();
  record.worker = message.to;
  record.pull = answer.number;
  record.clock = answer.clock;
  record.version = answer.version;
  return job_.record(all_.node_, record, {}, all_.causes_.of_answer(message, shard_server()));
}

void ShardOutbox::send_again(Message message) {
  const std::size_t before = all_.outgoing_.size();
  send(std::move(message));
  if (all_.outgoing_.size() > before) all_.outgoing_.back().is_new = false;  // else it is for this server
}

void ShardOutbox::announce(UpdateGroup group) {
  Message message{
      .from = all_.node_, .shard = shard_, .epoch = shard_server()->epoch(), .body = std::move(group)};
  const std::vector<std::size_t> load = job_.plan.keys.load(job_.plan.servers());
  for (std::uint32_t s = 0; s < job_.plan.servers(); ++s) {
    message.to = job_.plan.first_server() + s;
    const auto owns = [&](const auto& entry) { return entry.second.primary == message.to; };
    const bool hears = all_.owners_.empty() ? load[s] > 0 : std::ranges::any_of(all_.owners_, owns);
    if (message.to != all_.node_ && hears) all_.outgoing_.push_back({message, 0});
  }
  // The other shards here get it when this one is done.
  all_.announced_.push_back({std::move(message), cause_});
}

// A push may wait for other pushes of its group. Where the model lets a worker go on at once, these may be
// the worker's own next pushes. Also, a shard that has had all its updates makes no more groups. In both
// cases a worker that waits until its push is applied would wait for ever.
bool ShardOutbox::acknowledges_arrival() const {
  if (job_.plan.rule.gate == Gate::none) return true;
  const ShardServer* shard = shard_server();
  return job_.plan.rule.drops_stale && shard != nullptr && shard->version() >= job_.plan.steps;
}

void ShardOutbox::acknowledge(const Push& push) {
  if (!job_.plan.scenario.messages.acknowledge || job_.plan.scenario.may_fail()) return;
  all_.outgoing_.push_back(
      {{.from = all_.node_, .to = push.worker, .shard = shard_, .body = Ack{.number = push.number}}, 0});
}

void ShardOutbox::applied(const Push& push, std::int64_t staleness) {
  all_.record_push(Outcome::applied, shard_, push, staleness);
  if (!acknowledges_arrival()) acknowledge(push);
}

void ShardOutbox::dropped(const Push& push) {
  all_.record_push(Outcome::late, shard_, push);
  if (!acknowledges_arrival()) acknowledge(push);
}

void ShardOutbox::updated(std::int64_t version) {
  const ShardServer* server = shard_server();
  const Hashes hashes = server != nullptr ? hashes_of(*server) : Hashes{};
  all_.causes_.makes(shard_, version,
                     job_.record(all_.node_, ModelUpdate{of_run(), version, hashes.weights, hashes.state}));
  if (server != nullptr && job_.plan.rule.drops_stale &&
      version == job_.plan.steps) {  // no group will take them
    for (const Push& push : server->pending()) acknowledge(push);
  }
  job_.observer.on_version();
}

void ShardOutbox::promoted() {
  const ShardServer& server = *shard_server();
  all_.filters_.forget_keys(shard_);
  const auto [weights, state] = hashes_of(server);
  job_.record(all_.node_, Promotion{.shard = of_run(),
                                    .epoch = server.epoch(),
                                    .version = server.version(),
                                    .updated_in = server.state().updated_in,
                                    .weights_hash = weights,
                                    .state_hash = state,
                                    .waiting_pushes = all_.ended_ ? 0 : std::ssize(server.pending())});
  job_.observer.on_version();
}

std::shared_ptr<const Parameters> ShardOutbox::first_copy() {
  std::optional<Values> weights = job_.plan.initial(all_.keys().shards[shard_]);
  if (!weights) return {};
  return std::make_shared<const Parameters>(job_.plan.scenario.training.optimizer, job_.plan.storage(),
                                            std::move(*weights));
}

// A hash reads all weights and the optimizer's state. So psim computes hashes only where a copy may differ.
ShardOutbox::Hashes ShardOutbox::hashes_of(const ShardServer& server) const {
  const Slice weights = server.state().snapshot();
  const bool has_weights = weights.values && !job_.plan.workers_sum();
  if (job_.plan.scenario.replication.copies == 0 || !has_weights) return {};
  const std::uint64_t hash = XXH3_64bits(weights.values->raw(), weights.values->bytes());
  return {hash, server.state().hash(hash)};
}

void ShardOutbox::copied(NodeId replica) {
  job_.record(all_.node_, Copy{of_run(), replica, shard_server()->version()});
}

void ShardOutbox::membership_changed(NodeId node, const WorkerClocks::Worker& worker) {
  job_.record(all_.node_, Recount{.shard = of_run(),
                                  .worker = node,
                                  .takes_part = !worker.gone,
                                  .is_awaited = !worker.gone && !worker.rejoining,
                                  .applied = worker.applied,
                                  .arrived = worker.arrived,
                                  .skipped_clocks = worker.skipped_clocks});
}

}  // namespace psim
