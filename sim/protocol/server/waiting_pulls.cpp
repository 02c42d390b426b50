#include "sim/protocol/server/waiting_pulls.hpp"

#include <algorithm>

#include "sim/protocol/probe.hpp"

namespace psim {

WaitingPulls::All WaitingPulls::all() const {
  All all;
  for (std::uint32_t w = 0; w < pulls_.size(); ++w) {
    if (pulls_[w]) all.emplace(w, *pulls_[w]);
  }
  return all;
}

bool WaitingPulls::put(std::uint32_t worker, const Pull& pull, const ShardState& state) {
  expects(worker < state.workers.size(), "only pulls of workers wait");
  const bool is_back = !pull.pushes_sent;  // after a crash: its pulls start from 1 again
  if (worker >= pulls_.size()) {
    pulls_.resize(state.workers.size());
    newest_.resize(state.workers.size());
  }
  if (PSIM_PROBE(!is_back && newest_[worker] > pull.number, "an old pull comes after a newer one"))
    return false;
  PSIM_PROBE(find(worker) != nullptr, "a pull replaces a waiting one");
  erase(worker);
  newest_[worker] = pull.number;
  pulls_[worker] = std::make_unique<Pull>(pull);
  note_arrivals(worker, state);
  return true;
}

void WaitingPulls::erase(std::uint32_t worker) {
  const Pull* pull = find(worker);
  if (pull == nullptr) return;
  all_arrived_.erase({pull->clock, worker});
  pulls_[worker].reset();
}

void WaitingPulls::note_arrivals(std::uint32_t worker, const ShardState& state) {
  const Pull* pull = find(worker);
  if (pull == nullptr) return;
  const bool all = state.workers[worker].arrived >= pull->pushes_sent.value_or(0);
  if (all) all_arrived_.emplace(pull->clock, worker);
  else all_arrived_.erase({pull->clock, worker});
}

// Where late pushes are dropped, a pull may be due before its worker's push arrives. Elsewhere the pulls for
// clocks that the gate does not allow yet are omitted, but not the pulls beyond the last clock.
std::vector<std::uint32_t> WaitingPulls::perhaps_due(const ShardState& state) const {
  std::vector<std::uint32_t> workers;
  if (state.options.rule->drops_stale) {
    for (std::uint32_t w = 0; w < pulls_.size(); ++w) {
      if (pulls_[w]) workers.push_back(w);
    }
    return workers;
  }
  const std::int64_t last = state.policy().last_clock(state.workers);
  for (const auto& [clock, worker] : all_arrived_) {
    if (clock > last) break;
    workers.push_back(worker);
  }
  const std::int64_t over = std::max(state.options.steps, last + 1);
  for (auto next = all_arrived_.lower_bound({over, 0}); next != all_arrived_.end(); ++next)
    workers.push_back(next->second);
  std::ranges::sort(workers);
  return workers;
}

namespace {

// Whether no push of the worker can lead to the version for which it waits: the shard was set back, or forgot
// the push that the worker computed on this version. Then any version is enough. If an update does not wait
// for all, a worker with a cancelled step waits for the others' pushes.
bool has_lost_push(std::uint32_t worker, const Pull& pull, const ShardState& state) {
  // The push of a worker that may compute through some updates counts at any version that the shard goes back
  // to.
  const bool counts_anyway = pull.computes && !state.options.rule->drops_stale;
  if (pull.above < 0 || counts_anyway) return false;
  if (PSIM_PROBE(pull.above > state.version, "a worker has a newer version than the shard")) return true;
  return state.options.rule->waits_for_all() && !pull.computes && !state.updates.has(state.node_of(worker));
}

bool has_version(std::uint32_t worker, const Pull& pull, const ShardState& state) {
  const bool asks_policy = state.options.rule->gate == Gate::version && pull.above >= 0;
  const bool is_there =
      asks_policy ? state.policy().may_start(WaitingPulls::start_of(worker, pull, state, 0), state.memory)
                  : state.version > pull.above;
  return is_there || has_lost_push(worker, pull, state);
}

// Whether only the gate can still delay the answer, unless the pull is over.
bool comes_to_gate(std::uint32_t w, const Pull& pull, const ShardState& state) {
  const WorkerClocks::Worker& worker = state.workers[w];
  const std::int64_t sent = pull.pushes_sent.value_or(0);
  const bool drops_stale = state.options.rule->drops_stale, over = WaitingPulls::is_over(pull, state);
  // A push on its way to a shard with all its updates is too late, even if it is accepted.
  const bool reads_all = over && drops_stale;
  // Read-my-writes.
  if (PSIM_PROBE(worker.arrived < sent && !reads_all, "a pull overtakes a push")) return false;
  if (!over) return has_version(w, pull, state);
  // The last updates of another shard wait for decisions of the first shard.
  return drops_stale || state.decided() == UpdateRule::Decided::here || worker.applied >= sent;
}

// The caller has already checked that the worker has a version on which it can compute.
bool is_open(const StartView& view, const ShardState& state) {
  const ConsistencyRule& rule = *state.options.rule;
  if (rule.keeps_late && rule.gate == Gate::own) return view.applied() >= view.pushed;
  return rule.gate == Gate::version || state.policy().may_start(view, state.memory);
}

}  // namespace

StartView WaitingPulls::start_of(std::uint32_t worker, const Pull& pull, const ShardState& state,
                                 double now) {
  return {.clocks = state.workers,
          .worker = worker,
          .clock = pull.clock,
          .version = state.version,
          .computed_on = pull.above,
          .pushed = pull.pushes_sent.value_or(0),
          .now = now};
}

bool WaitingPulls::is_over(const Pull& pull, const ShardState& state) {
  return (state.options.rule->drops_stale ? state.version : pull.clock) >= state.options.steps;
}

bool WaitingPulls::is_due(std::uint32_t w, const Pull& pull, ShardState& state, double now) {
  if (!comes_to_gate(w, pull, state)) return false;
  const StartView view = start_of(w, pull, state, now);
  if (is_over(pull, state) || is_open(view, state)) return true;
  state.policy().note_wait(view, state.estimates());
  return is_open(view, state);
}

bool WaitingPulls::is_overdue(std::uint32_t w, const Pull& pull, const ShardState& state) {
  return comes_to_gate(w, pull, state) &&
         (is_over(pull, state) || is_open(start_of(w, pull, state, 0), state));
}

bool WaitingPulls::has_finished(std::uint32_t worker, const ShardState& state) const {
  const Pull* pull = find(worker);
  return !state.options.rule->drops_stale && pull != nullptr && is_over(*pull, state) &&
         state.workers[worker].arrived >= pull->pushes_sent.value_or(0);
}

bool WaitingPulls::waits_for_others(std::uint32_t worker, const ShardState& state) const {
  const Pull* pull = find(worker);
  return pull != nullptr && pull->above >= state.version && !pull->computes &&
         pull->pushes_sent.value_or(0) <= state.workers[worker].arrived;
}

// Whether every worker that takes part has a pending push here, or waits for the next version.
bool WaitingPulls::none_will_push(const ShardState& state) const {
  for (std::uint32_t w = 0; w < state.workers.size(); ++w) {
    const bool has_push = state.updates.has(state.node_of(w));
    if (!state.workers[w].gone && !has_push && !waits_for_others(w, state)) return false;
  }
  return true;
}

bool WaitingPulls::restart_steps(const ShardState& state, double now) {
  const ConsistencyRule& rule = *state.options.rule;
  const bool some_wait = rule.gate == Gate::version && !rule.waits_for_all();
  const auto is_here = [](const auto& pull) { return pull != nullptr; };
  if (!some_wait || state.updates.is_complete(state.view(now), state.memory) || !none_will_push(state) ||
      std::ranges::none_of(pulls_, is_here))
    return false;
  PSIM_PROBE(true, "all workers wait for an update, so their steps begin again");
  for (std::uint32_t w = 0; w < pulls_.size(); ++w) {
    if (pulls_[w] && !state.updates.has(state.node_of(w))) pulls_[w]->above = -1;
  }
  return true;
}

}  // namespace psim
