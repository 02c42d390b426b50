#include "sim/nodes/server/shard_outbox.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace psim {

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
