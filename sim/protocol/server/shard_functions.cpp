// What a shard's server does with its weights: updates, and the functions that tasks call.
#include <utility>

#include "sim/protocol/server/shard_server.hpp"

namespace psim {

void ShardServer::update_with(WeighedPushes pushes, double now, Outbox& out) {
  state_.policy().note_update(state_.view(now), pushes.pushes, state_.own_memory());
  ShardState::Update update = state_.prepare(std::move(pushes));
  for (std::size_t i = 0; i < update.pushes.size(); ++i) out.applied(update.pushes[i], update.staleness[i]);
  if (log_.has_copies()) {
    const std::span<const double> memory = state_.own_memory();
    log_.next().memory.assign(memory.begin(), memory.end());
    log_.next().weights = update.weights;
    deliver(log_.append_update(update.pushes, pending(), [&] { return state_.sum_of(update); }), out);
  }
  state_.apply(update, epoch_);
  state_.updates.begin(now);
  out.updated(version());
}

// A function that a task calls. Pushes that it applies have arrived: their tasks ended before.
void ShardServer::on_call(NodeId from, const Call& call, double now, Outbox& out) {
  Returned answer{.task = call.task};
  if (call.function == TaskKind::apply || call.function == TaskKind::update) {
    std::vector<Push> pushes = state_.updates.take_told(call.push);
    if (!pushes.empty()) update_with({std::move(pushes)}, now, out);
  } else if (call.function == TaskKind::norm) {
    answer.value = state_.weights.sum_of_squares();
  } else {
    state_.change(call.function, call.amount, epoch_);
    out.updated(version());
  }
  send(from, answer, out);
}

}  // namespace psim
