// When a worker may start its next clock, and when there is none.
#include <algorithm>
#include <cmath>

#include "model/mutant.hpp"
#include "sim/protocol/server.hpp"

namespace psim {

// A push that is applied again counts once.
void Server::count_applied(const PushId& push) {
  WorkerState& worker = workers_[index_of(push.worker)];
  if (!options_.exactly_once && push.number < worker.applied) return;
  const bool was_slowest = worker.clock() == slowest_;
  ++worker.applied;
  if (was_slowest && --at_slowest_ == 0) find_slowest();
}

// Of those that take part.
void Server::find_slowest() {
  std::optional<std::int64_t> least;
  for (const WorkerState& worker : workers_) {
    if (!worker.counts()) continue;
    if (worker.clock() == least) ++at_slowest_;
    if (least && worker.clock() >= *least) continue;
    least = worker.clock();
    at_slowest_ = 1;
  }
  slowest_ = least.value_or(slowest_);
}

// A worker whose pull is for a clock that there is no more, and whose pushes are all in, will not push again.
void Server::finish_if_through(std::uint32_t w) {
  WorkerState& worker = workers_[w];
  const auto pull = waiting_.find(w);
  if (options_.rule.fresh || worker.finished || pull == waiting_.end()) return;
  if (pull->second.clock < options_.steps || worker.arrived < pull->second.pushes_sent.value_or(0)) return;
  worker.finished = true;
  --active_;
}

bool Server::is_over(const Pull& pull) const {
  return options_.rule.fresh ? version_ >= options_.steps : pull.clock >= options_.steps;
}

bool Server::may_start(std::size_t w, const Pull& pull, double now) {
  if (version_ <= pull.above && !has_lost_push(static_cast<std::uint32_t>(w), pull) && !mutant("old-version"))
    return false;
  switch (options_.rule.gate) {
    case Gate::none:
    case Gate::version: return true;
    case Gate::own:
      return workers_[w].applied + (mutant("own-push-may-wait") ? 1 : 0) >= pull.pushes_sent.value_or(0);
    case Gate::staleness: return within_staleness(w, pull.clock, now);
  }
  return false;
}

bool Server::within_staleness(std::size_t w, std::int64_t clock, double now) {
  const std::int64_t gap = clock - slowest_;
  if (gap <= options_.rule.staleness_at(clock) + (mutant("one-clock-further") ? 1 : 0)) return true;
  if (!options_.rule.dynamic || gap > options_.rule.staleness_max) return false;
  Pace& pace = paces_[w];
  const auto is_slowest = [this](const WorkerState& worker) {
    return worker.counts() && worker.clock() == slowest_;
  };
  const auto is_faster = [&](const WorkerState& worker) {
    return worker.counts() && worker.clock() > workers_[w].clock();
  };
  const auto slowest = std::ranges::find_if(workers_, is_slowest);
  const bool is_fastest = std::ranges::none_of(workers_, is_faster);
  if (clock > pace.granted && is_fastest && slowest != workers_.end())
    pace.granted = clock - 1 + extra_clocks(w, static_cast<std::size_t>(slowest - workers_.begin()), now);
  return clock <= pace.granted;
}

// Zhao et al. 2019, algorithm 2: how many more clocks the fastest worker should run before it waits, so
// that one of its predicted ends falls nearest before a predicted push of the slowest.
std::int64_t Server::extra_clocks(std::size_t w, std::size_t slowest, double now) const {
  const Pace &fast = paces_[w], &slow = paces_[slowest];
  if (!(fast.interval > 0) || !(slow.interval > 0)) return 0;
  const std::int64_t most = options_.rule.staleness_max - options_.rule.staleness;
  std::int64_t best = 0;
  double least_wait = HUGE_VAL;
  for (std::int64_t r = 0; r <= most; ++r) {
    const double mine = now + static_cast<double>(r) * fast.interval;
    const double turns = std::max(1.0, std::ceil((mine - slow.last_push) / slow.interval));
    const double wait = slow.last_push + turns * slow.interval - mine;
    if (wait < least_wait || mutant("dssp-grants-all")) {
      least_wait = wait;
      best = r;
    }
  }
  return best;
}

}  // namespace psim
