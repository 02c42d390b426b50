// A shard's server (shard_server.hpp) where workers run the optimizer: who needs another worker's copy, and
// where it comes from.
#include "model/parameters.hpp"
#include "sim/protocol/server/shard_server.hpp"

namespace psim {

// Whether neither nothing nor the last sum brings the worker to this version.
bool ShardServer::needs_copy(const Pull& pull) const {
  if (!runs_on_sums() || version() == 0 || pull.copy == version()) return false;
  return pull.copy != version() - 1 || !state_.weights.has_sum();
}

void ShardServer::fill(Answer& answer, const Pull& pull) const {
  if (runs_on_sums() && pull.copy == version()) return;  // the worker goes on with what it has
  answer.is_copy = needs_copy(pull);
  if (answer.is_copy) answer.copy = copies_.copy();
  if (answer.is_copy) answer.weights.bytes = state_.weights.copy_bytes();
  else answer.weights.values = state_.weights.reply(pull.keys, version());
}

// It takes part, and does not wait for a copy itself.
bool ShardServer::may_have_copy(std::uint32_t w) const {
  const Pull* pull = pulls_.find(w);
  const bool waits = pull != nullptr && needs_copy(*pull);
  return !state_.workers[w].gone && !waits && !copies_.is_known_without(w);
}

// Whether one of this version is here; else a worker is asked. When no worker is left that may have one, all
// that wait go on with first weights, and this answers them, with the one that asks here.
bool ShardServer::find_copy(double now, Outbox& out) {
  if (copies_.has(version())) return true;
  copies_.look_for(version());
  bool some_may = false;
  for (std::uint32_t w = 0; w < state_.workers.size(); ++w) {
    if (!may_have_copy(w)) continue;
    some_may = true;
    if (!copies_.may_ask(w, now)) continue;
    copies_.ask(w, now);
    send(state_.node_of(w), Restore{.log_epoch = epoch_, .entries = version() - 1}, out);
    return false;
  }
  if (some_may) {
    copies_.begin_anew(now);
    return false;
  }
  copies_.put(version(), out.first_copy());
  state_.weights.adopt(copies_.copy().get());
  answer_all(now, out);
  return false;
}

// One that has the version before will have this one as soon as it has the sum.
void ShardServer::on_copy(NodeId from, const State& state, double now, Outbox& out) {
  if (!leads_ || !runs_on_sums()) return;
  copies_.answered();
  const bool comes = state.version == version() - 1 && state_.weights.has_sum();
  if (state.version == version()) copies_.put(version(), state.replica);
  else if (!comes) copies_.is_without(state_.index_of(from), version());
  answer_all(now, out);
}

void ShardServer::adopt(const State& copy) {
  state_.version = copy.version;
  state_.updated_in = copy.log_epoch;
  state_.weights.adopt(copy.replica.get());
  copies_.put(copy.version, copy.replica);
}

}  // namespace psim
