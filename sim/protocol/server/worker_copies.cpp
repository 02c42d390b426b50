#include "sim/protocol/server/worker_copies.hpp"

#include "model/parameters.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {

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
