#include "sim/protocol/server/pull_desk.hpp"

#include <utility>

#include "model/parameters.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {

bool PullDesk::put(std::uint32_t w, const Pull& pull, const ShardState& state) {
  if (pull.list.signature != 0) {
    known_keys_.resize(state.workers.size());
    if (!known_keys_[w].reads(pull.list)) return false;  // the worker will repeat it, with its keys
  }
  return pulls_.put(w, pull, state);
}

void PullDesk::reconcile(std::uint32_t w, const Pull& pull, const ShardContext& shard) {
  ShardState& state = shard.state;
  if (PSIM_PROBE(!pull.pushes_sent, "a worker is back and asks where to continue")) {
    // The server has no push of the worker that waits for its group, and the group may wait for the worker's
    // next push.
    const bool waits_for_own = state.options.rule->gate == Gate::own;
    pulls_.find(w)->pushes_sent = waits_for_own ? state.workers[w].applied : state.workers[w].arrived;
    return;
  }
  skip_lost(w, pull.oldest_resendable, shard);
  if (state.workers.has_skipped(w, pull.skipped_clocks)) shard.end_rejoining(w);
}

void PullDesk::skip_lost(std::uint32_t w, std::int64_t oldest_resendable, const ShardContext& shard) {
  if (PSIM_PROBE(shard.skip_lost(w, oldest_resendable), "pushes that nobody has any more are skipped"))
    note_arrivals(w, shard.state);
}

void PullDesk::answer_all(const ShardContext& shard) {
  pulls_.for_each_waiting(shard.state, [&](std::uint32_t w) { answer(w, shard); });
}

void PullDesk::answer(std::uint32_t w, const ShardContext& shard) {
  ShardState& state = shard.state;
  const Pull* waiting = pulls_.find(w);
  const bool may_show = shard.replication.may_answer(w);  // otherwise a crash may undo the last update
  PSIM_PROBE(!may_show && waiting != nullptr, "an answer waits for replicas");
  if (!may_show || waiting == nullptr || !WaitingPulls::is_due(w, *waiting, state, shard.now)) return;
  const Pull& pull = *waiting;
  const WorkerClocks::Worker& worker = state.workers[w];
  const bool over = WaitingPulls::is_over(pull, state);
  const bool needed = !over || (state.options.rule->shards_advance_independently && state.options.shards > 1);
  if (needed && copies_.needs(pull, state)) {
    const WorkerCopies::Found found = copies_.find(pulls_, shard);
    if (found == WorkerCopies::Found::first_weights) answer_all(shard);  // includes this pull
    if (PSIM_PROBE(found != WorkerCopies::Found::here, "an answer waits for another worker's copy")) return;
  }
  const NodeId node = state.node_of(w);
  const std::int64_t skip = state.workers.to_skip(w);
  if (worker.rejoining && skip == worker.skipped_clocks) shard.end_rejoining(w);
  Answer answer{.finished = over,
                .clock = pull.clock,
                .number = pull.number,
                .answered = pull.answered,
                .version = state.version,
                .sent_at = shard.now,
                .safe_pushes = shard.replication.safe_pushes_of(w, state),
                .pushes_here = worker.arrived,
                .skip_clocks = skip,
                .has_push = state.updates.has(node),
                .slowest = state.workers.slowest()};
  if (needed) copies_.fill(answer, pull, state);
  answer.weights.keys = pull.keys;
  if (state.weights.compensates() && needed) {
    state.weights.was_sent(w, answer.weights.values);
    if (LogEntry* entry = shard.replication.next_entry()) entry->shown.push_back({.worker = node});
  }
  pulls_.erase(w);
  shard.send(node, std::move(answer));
}

void PullDesk::answer_reader(NodeId reader, const Pull& pull, const ShardContext& shard) {
  const ShardState& state = shard.state;
  Answer answer{
      .number = pull.number, .answered = pull.answered, .version = state.version, .sent_at = shard.now};
  answer.weights.values = state.snapshot();
  shard.send(reader, std::move(answer));
}

bool WorkerCopies::needs(const Pull& pull, const ShardState& state) const {
  if (!is_on_ || state.version == 0 || pull.copy == state.version) return false;
  return pull.copy != state.version - 1 || !state.weights.has_sum();
}

void WorkerCopies::fill(Answer& answer, const Pull& pull, const ShardState& state) const {
  if (is_on_ && pull.copy == state.version) return;  // the worker continues with its own copy
  answer.is_copy = needs(pull, state);
  if (answer.is_copy) answer.copy = search_.copy();
  if (answer.is_copy) answer.weights.bytes = state.weights.copy_bytes();
  else answer.weights.values = state.weights.reply(pull.keys, state.version);
}

// The worker takes part, and does not wait for a copy itself.
bool WorkerCopies::may_have_copy(std::uint32_t w, const WaitingPulls& pulls, const ShardState& state) const {
  const Pull* pull = pulls.find(w);
  const bool waits = pull != nullptr && needs(*pull, state);
  return !state.workers[w].gone && !waits && !search_.is_known_without(w);
}

WorkerCopies::Found WorkerCopies::find(const WaitingPulls& pulls, const ShardContext& shard) {
  ShardState& state = shard.state;
  if (search_.has(state.version)) return Found::here;
  search_.look_for(state.version);
  bool some_may = false;
  for (std::uint32_t w = 0; w < state.workers.size(); ++w) {
    if (!may_have_copy(w, pulls, state)) continue;
    some_may = true;
    if (!search_.may_ask(w, shard.now)) continue;
    search_.ask(w, shard.now);
    shard.send(state.node_of(w),
               Restore{.log_epoch = shard.replication.role().epoch, .entries = state.version - 1});
    return Found::not_yet;
  }
  if (some_may) {
    search_.begin_anew(shard.now);
    return Found::not_yet;
  }
  search_.put(state.version, shard.out.first_copy());
  state.weights.adopt(search_.copy().get());
  return Found::first_weights;
}

// A worker with the previous version will have this version as soon as it has the sum.
bool WorkerCopies::take(NodeId from, const State& copy, const ShardContext& shard) {
  const ShardState& state = shard.state;
  if (!shard.replication.leads() || !is_on_) return false;
  search_.answered();
  const bool comes = copy.version == state.version - 1 && state.weights.has_sum();
  if (copy.version == state.version) search_.put(state.version, copy.replica);
  else if (!comes) search_.is_without(state.index_of(from), state.version);
  return true;
}

void WorkerCopies::adopt(const State& copy, ShardState& state) {
  PSIM_PROBE(true, "a shard continues from the copy of a worker");
  state.version = copy.version;
  state.updated_in = copy.log_epoch;
  state.weights.adopt(copy.replica.get());
  search_.put(copy.version, copy.replica);
}

}  // namespace psim
