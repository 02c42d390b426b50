#include "sim/protocol/server/push_intake.hpp"

#include "sim/protocol/probe.hpp"

namespace psim {

bool PushIntake::is_next(const Push& push, const ShardContext& shard) {
  expects(push.number >= 0, "pushes are numbered from 0");
  const ShardState& state = shard.state;
  const std::uint32_t w = state.index_of(push.worker);
  const std::int64_t next = state.workers[w].arrived;
  if (PSIM_PROBE(push.number > next, "a push overtakes an earlier push of its worker")) {
    if (!early_.keep(w, push)) shard.out.refused(push);  // another copy of it already waits
    return false;
  }
  if (PSIM_PROBE(push.number < next && state.options.exactly_once, "a push comes again")) {
    confirm(push, shard);
    shard.out.duplicate(push);
    return false;
  }
  PSIM_PROBE(push.number < next, "a push counts a second time");
  return true;
}

// From now on the push carries its list of keys, because only this receiver knows the list.
std::optional<Push> PushIntake::read(const Push& push, const ShardContext& shard) {
  if (push.gradient.list.signature == 0) return push;
  const ShardState& state = shard.state;
  known_keys_.resize(state.workers.size(), KeyMemory(state.options.weights.feature_blocks));
  if (!known_keys_[state.index_of(push.worker)].reads(push.gradient.list)) {
    shard.out.refused(push);
    return std::nullopt;
  }
  Push whole = push;
  if (!whole.gradient.list.is_listed()) whole.gradient.list_keys();
  return whole;
}

std::optional<Push> PushIntake::take_early(std::uint32_t w, const ShardContext& shard) {
  const WorkerClocks::Worker& worker = shard.state.workers[w];
  while (std::optional<Push> push = early_.take(w, worker.arrived)) {
    if (PSIM_PROBE(push->number == worker.arrived, "an early push gets its turn")) return push;
    shard.out.refused(*push);  // it already counts
  }
  return std::nullopt;
}

void PushIntake::confirm(const Push& push, const ShardContext& shard) const {
  if (!confirms_) return;
  const std::int64_t safe = shard.replication.safe_pushes_of(shard.state.index_of(push.worker), shard.state);
  shard.send(push.worker, Ack{push.number, safe});
}

void PushIntake::refuse_early(std::uint32_t w, Outbox& out) {
  while (const std::optional<Push> push = early_.take(w)) out.refused(*push);
}

}  // namespace psim
