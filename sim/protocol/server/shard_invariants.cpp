#include "sim/protocol/server/shard_invariants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "sim/protocol/server/shard_server.hpp"

namespace psim {
namespace {

template <class... Args>
void demand(bool holds, fmt::format_string<const Args&...> what, const Args&... args) {
  if (!holds) throw BrokenShard(fmt::format(what, args...));
}

std::int64_t waiting_of(const ShardState& state, NodeId worker) {
  return std::ranges::count(state.updates.pending(), worker, &Push::worker);
}

// A push that has arrived was applied, was dropped, or waits for its update.
void check_pushes(const ShardServer& server) {
  const ShardState& state = server.state();
  for (std::uint32_t w = 0; w < state.workers.size(); ++w) {
    const WorkerClocks::Worker& worker = state.workers[w];
    const std::int64_t waiting = waiting_of(state, state.node_of(w));
    demand(0 <= worker.applied && worker.applied <= worker.arrived,
           "pushes of worker {}: {} applied or dropped, but only {} arrived", w, worker.applied,
           worker.arrived);
    if (server.leads() && state.options.exactly_once)
      demand(worker.applied + waiting == worker.arrived,
             "pushes of worker {}: {} applied or dropped and {} waiting, but {} arrived", w, worker.applied,
             waiting, worker.arrived);
  }
}

// A pending push waits only once, has arrived, and may be part of the next update.
void check_waiting(const ShardServer& server) {
  const ShardState& state = server.state();
  const bool one_of_each =
      state.options.rule->gate == Gate::version && state.decided() != UpdateRule::Decided::elsewhere;
  const std::vector<Push>& pending = state.updates.pending();
  for (const Push& push : pending) {
    const std::uint32_t w = state.index_of(push.worker);
    demand(push.number < state.workers[w].arrived, "push {} of worker {} waits but has not arrived",
           push.number, w);
    demand(std::ranges::count(pending, push.id(), &Push::id) == 1 || !state.options.exactly_once,
           "push {} of worker {} waits twice", push.number, w);
    demand(!one_of_each || waiting_of(state, push.worker) == 1,
           "several pushes of worker {} wait for one update", w);
    demand(!state.updates.is_late(push, state.version),
           "push {} of worker {} waits but is too late for version {}", push.number, w, state.version);
  }
}

// Stored counts equal a new count.
void check_counts(const WorkerClocks& workers) {
  std::optional<std::int64_t> slowest;
  std::int64_t members = 0, will_push = 0;
  for (const WorkerClocks::Worker& worker : workers) {
    if (worker.counts()) slowest = std::min(slowest.value_or(worker.clock()), worker.clock());
    if (!worker.gone) ++members;
    if (!worker.gone && !worker.finished) ++will_push;
  }
  demand(!slowest || workers.slowest() == *slowest, "the stored slowest clock is {}, but it is {}",
         workers.slowest(), slowest.value_or(0));
  demand(workers.members() == members, "the stored number of members is {}, but it is {}", workers.members(),
         members);
  demand(workers.will_push() == will_push, "the stored number of workers that will push is {}, but it is {}",
         workers.will_push(), will_push);
}

// No copy has more entries than the log, and every replica has each entry that becomes safe. A later replica
// may lack some of the entries that `were_safe`.
void check_log(const ShardServer& server, std::int64_t were_safe) {
  const ReplicatedLog& log = server.log();
  const std::int64_t entries = log.extent().entries;
  demand(log.safe_entries() <= entries, "safe entries: {}, but the log has {}", log.safe_entries(), entries);
  for (const auto& [node, confirmed] : log.confirmed()) {
    demand(confirmed <= entries, "entries confirmed by node {}: {}, but the log has {}", node, confirmed,
           entries);
    demand(log.safe_entries() <= std::max(confirmed, were_safe), "safe entries: {}, but node {} has {}",
           log.safe_entries(), node, confirmed);
  }
  const WorkerClocks& workers = server.state().workers;
  for (std::uint32_t w = 0; w < workers.size(); ++w)
    demand(log.committed(w) <= workers[w].arrived, "pushes of worker {}: {} safe, but only {} arrived", w,
           log.committed(w), workers[w].arrived);
}

// A pull waits only at the owner, and only while it may not be answered. Its worker may count as lost.
void check_pulls(const ShardServer& server) {
  const ShardState& state = server.state();
  for (const auto& [w, pull] : server.waiting()) {
    demand(server.leads(), "worker {} waits at a server that does not lead", w);
    const bool is_held_back = !server.log().is_safe(w) || server.looks_for_copy(pull);
    demand(is_held_back || !WaitingPulls::is_overdue(w, pull, state),
           "pull {} of worker {} waits, but its answer is due", pull.number, w);
  }
}

}  // namespace

void ShardInvariants::check(const ShardServer& server) {
  try {
    check_all(server);
  } catch (const BrokenShard& broken) {
    throw BrokenShard(fmt::format("shard {} on node {}: {}", server.shard(), server.id(), broken.what()));
  }
}

void ShardInvariants::check_all(const ShardServer& server) {
  const ShardState& state = server.state();
  const bool has_led = has_looked_ && led_ && server.leads() && epoch_ == server.epoch();
  check_pushes(server);
  check_counts(state.workers);
  check_pulls(server);
  if (server.leads()) {
    check_waiting(server);
    check_log(server, has_led ? safe_entries_ : 0);
  }
  demand(!has_looked_ || epoch_ <= server.epoch(), "epoch {} comes after {}", server.epoch(), epoch_);
  const std::int64_t pushes = state.applied - applied_,
                     updates = state.version - version_ - (state.changes - changes_);
  demand(!has_looked_ || state.version >= version_, "version {} comes after {}", state.version, version_);
  demand(!has_looked_ || updates <= pushes, "new updates: {}, but applied pushes: {}", updates, pushes);
  if (has_led)
    demand(safe_entries_ <= server.log().safe_entries(), "safe entries: {} before, but now only {}",
           safe_entries_, server.log().safe_entries());
  *this = {};
  version_ = state.version;
  changes_ = state.changes;
  applied_ = state.applied;
  safe_entries_ = server.log().safe_entries();
  epoch_ = server.epoch();
  led_ = server.leads();
  has_looked_ = true;
}

bool checks_invariants() {
  static const bool asked = std::getenv("PSIM_INVARIANTS") != nullptr;
  return asked;
}

}  // namespace psim
