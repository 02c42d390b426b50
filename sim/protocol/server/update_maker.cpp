#include "sim/protocol/server/update_maker.hpp"

#include <span>
#include <stdexcept>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

bool is_drop(const std::optional<Decision>& decision) {
  return decision && decision->what == Decision::What::drop;
}

}  // namespace

UpdateMaker::Taken UpdateMaker::take(const Push& push) {
  std::optional<Decision> decision;
  if (!comes_too_late(push) && !is_drop(decision = wait_for_update(push)))
    return {.decision = std::move(decision)};
  drop(push);
  const bool others_have_it =
      !state_.options.rule->drops_stale && state_.decided() == UpdateRule::Decided::here_for_all;
  if (PSIM_PROBE(others_have_it, "the other shards hear that the first shard drops a push"))
    shard_.out.announce({.version = state_.version, .dropped = {push.id()}});
  return {.is_dropped = true};
}

// If the first shard decides for all, it also decides which pushes are too stale.
bool UpdateMaker::comes_too_late(const Push& push) const {
  if (state_.updates.is_late(push, state_.version)) return true;
  const bool decides = state_.decided() != UpdateRule::Decided::elsewhere;
  return PSIM_PROBE(decides && state_.options.rule->stale.drops(state_.staleness_of(push)),
                    "a push is too old");
}

// The push joins the waiting pushes, unless the policy drops it.
std::optional<Decision> UpdateMaker::wait_for_update(const Push& push) {
  const std::optional<Push> before = state_.updates.withdraw_for(push);
  if (PSIM_PROBE(before, "a push replaces an earlier push of its worker")) drop(*before);
  state_.updates.add(push, shard_.now);
  if (state_.decided() == UpdateRule::Decided::elsewhere) return {};
  ShardView view = state_.view(shard_.now);
  view.came = state_.updates.pending().size() - 1;
  std::optional<Decision> decision = state_.policy().on_push(view, state_.memory);
  if (!is_drop(decision)) return decision;
  if (state_.options.rule->gate == Gate::version || state_.updates.count_of(push.worker) > 1)
    throw std::logic_error(
        "a consistency policy drops a push whose worker waits for an update, or has an earlier pending push");
  state_.updates.remove_last();
  return decision;
}

void UpdateMaker::drop(const Push& push) {
  state_.count_applied(push.id());
  if (LogEntry* entry = shard_.replication.next_entry()) {
    const bool is_the_logged = entry->push && entry->push->id() == push.id();
    if (is_the_logged) entry->drops_push = true;
    else entry->dropped.push_back(push.id());
  }
  shard_.out.dropped(push);
}

bool UpdateMaker::make_complete(const std::optional<Decision>& on_push) {
  if (!make_next(on_push)) return false;
  while (PSIM_PROBE(make_next({}), "several groups have waited for one push")) continue;
  return true;
}

bool UpdateMaker::make_next(const std::optional<Decision>& on_push) {
  UpdateRule::Next next = state_.updates.next(
      state_.view(shard_.now), state_.memory,
      [this](std::uint32_t w) { return pulls_.waits_for_others(w, state_); }, on_push);
  for (const Push& push : next.late) drop(push);
  if (next.update.pushes.empty()) return PSIM_PROBE(!next.late.empty(), "all pushes of a group are too late");
  if (next.decision) shard_.out.announce(std::move(*next.decision));
  update_with(std::move(next.update));
  return true;
}

void UpdateMaker::update_with(WeighedPushes pushes) {
  expects(!pushes.pushes.empty(), "an update has a push");
  state_.policy().note_update(state_.view(shard_.now), pushes.pushes, state_.own_memory());
  ShardState::Update update = state_.prepare(std::move(pushes));
  for (std::size_t i = 0; i < update.pushes.size(); ++i)
    shard_.out.applied(update.pushes[i], update.staleness[i]);
  if (LogEntry* entry = shard_.replication.next_entry()) {
    const std::span<const double> memory = state_.own_memory();
    entry->memory.assign(memory.begin(), memory.end());
    entry->weights = update.weights;
    shard_.replication.log_update(
        update.pushes, state_, [&] { return state_.sum_of(update); }, shard_.out);
  }
  state_.apply(update, shard_.replication.role().epoch);
  state_.updates.begin(shard_.now);
  shard_.out.updated(state_.version);
}

// ---- Decisions of the first shard

bool UpdateMaker::follow(const UpdateGroup& decision) {
  if (!shard_.replication.leads() || state_.decided() != UpdateRule::Decided::elsewhere) return false;
  state_.updates.hear(decision, shard_.now);
  return make_complete();
}

void UpdateMaker::tell_decision(NodeId from, const Decide& question) const {
  if (!shard_.replication.leads()) return;
  if (!state_.options.rule->drops_stale) {
    UpdateGroup all{.version = state_.version, .is_summary = true};
    for (std::uint32_t w = 0; w < state_.workers.size(); ++w) {
      const std::int64_t decided = state_.before_pending(w, state_.workers[w].arrived);
      if (decided > 0) all.pushes.push_back({state_.node_of(w), decided - 1});
    }
    return shard_.send(from, std::move(all));
  }
  if (question.version >= state_.version && state_.version < state_.options.steps) return;
  UpdateGroup answer{.version = question.version};
  if (PSIM_PROBE(question.version + 1 == state_.version, "a shard asks for the last decision again")) {
    answer.pushes = state_.updates.last().pushes;
    answer.weights = state_.updates.last().weights;
  }
  shard_.send(from, std::move(answer));
}

bool UpdateMaker::ask_for_decision(double timeout) {
  if (!shard_.replication.leads()) return false;
  const std::optional<std::int64_t> version = state_.updates.lacks_decision();
  if (!version || state_.updates.asked() + timeout > shard_.now) return false;
  state_.updates.ask(shard_.now);
  if (PSIM_PROBE(state_.updates.stop_waiting(shard_.now - timeout), "a decision stops waiting"))
    return make_complete();
  if (PSIM_PROBE(!state_.updates.waits_for_pushes(), "a shard asks for a decision that it lacks"))
    shard_.out.send_again({.from = shard_.replication.role().server, .body = Decide{*version}});
  return false;
}

// ---- Tasks

Returned UpdateMaker::call(const Call& call) {
  Returned answer{.task = call.task};
  if (call.function == TaskKind::apply || call.function == TaskKind::update) {
    std::vector<Push> pushes = state_.updates.take_told(call.push);
    if (!pushes.empty()) update_with({std::move(pushes)});
  } else if (call.function == TaskKind::norm) {
    answer.value = state_.weights.sum_of_squares();
  } else {
    state_.change(call.function, call.amount, shard_.replication.role().epoch);
    shard_.out.updated(state_.version);
  }
  return answer;
}

}  // namespace psim
