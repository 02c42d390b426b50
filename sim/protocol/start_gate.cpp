#include "sim/protocol/start_gate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace psim {

void StartGate::pushed(std::size_t worker, double now) {
  if (paces_.empty()) return;
  paces_[worker].interval = now - paces_[worker].last_push;
  paces_[worker].last_push = now;
}

bool StartGate::may_start(std::size_t worker, std::int64_t clock, std::int64_t pushes_sent,
                          const WorkerClocks& clocks, double now) {
  const bool open = is_open(worker, clock, pushes_sent, clocks);
  if (open || paces_.empty() || clock - clocks.slowest() > rule_.staleness_max) return open;
  grant(worker, clock, clocks, now);
  return is_open(worker, clock, pushes_sent, clocks);
}

std::optional<std::int64_t> StartGate::needed_clock(std::size_t worker, std::int64_t clock) const {
  if (rule_.gate != Gate::staleness || rule_.custom) return std::nullopt;
  const bool is_granted = !paces_.empty() && clock <= paces_[worker].granted;
  const std::int64_t bound = is_granted ? rule_.staleness_max : rule_.staleness_at(clock);
  return clock > bound ? std::optional(clock - bound - 1) : std::nullopt;
}

std::int64_t StartGate::last_clock(const WorkerClocks& clocks) const {
  if (rule_.gate != Gate::staleness || rule_.custom) return std::numeric_limits<std::int64_t>::max() - 1;
  std::int64_t bound = std::max(rule_.staleness, rule_.dynamic ? rule_.staleness_max : 0);
  for (const auto& step : rule_.schedule) bound = std::max(bound, static_cast<std::int64_t>(step[1]));
  return clocks.slowest() + bound;
}

bool StartGate::is_open(std::size_t worker, std::int64_t clock, std::int64_t pushes_sent,
                        const WorkerClocks& clocks) const {
  if (rule_.custom && rule_.gate != Gate::version)
    return rule_.custom->may_start({.clock = clock,
                                    .min_clock = clocks.slowest(),
                                    .pushed = pushes_sent,
                                    .applied = clocks[worker].applied});
  const std::int64_t gap = clock - clocks.slowest();
  switch (rule_.gate) {
    case Gate::none:
    case Gate::version: return true;
    case Gate::own: return clocks[worker].applied >= pushes_sent;
    case Gate::staleness:
      if (gap <= rule_.staleness_at(clock)) return true;
      return !paces_.empty() && gap <= rule_.staleness_max && clock <= paces_[worker].granted;
  }
  return false;
}

// dssp: to the fastest worker, as many clocks as make it wait least.
void StartGate::grant(std::size_t worker, std::int64_t clock, const WorkerClocks& clocks, double now) {
  Pace& pace = paces_[worker];
  const auto is_slowest = [&](const WorkerClocks::Worker& other) {
    return other.counts() && other.clock() == clocks.slowest();
  };
  const auto is_faster = [&](const WorkerClocks::Worker& other) {
    return other.counts() && other.clock() > clocks[worker].clock();
  };
  const auto slowest = std::ranges::find_if(clocks, is_slowest);
  const bool is_fastest = std::ranges::none_of(clocks, is_faster);
  if (is_fastest && slowest != clocks.end())
    pace.granted =
        clock - 1 + extra_clocks(pace, paces_[static_cast<std::size_t>(slowest - clocks.begin())], now);
}

// Zhao et al. 2019, algorithm 2: how many more clocks the fastest worker should run before it waits, so that
// one of its predicted ends is as close as possible before a predicted push of the slowest worker.
std::int64_t StartGate::extra_clocks(const Pace& fast, const Pace& slow, double now) const {
  if (!(fast.interval > 0) || !(slow.interval > 0)) return 0;
  const std::int64_t most = rule_.staleness_max - rule_.staleness;
  std::int64_t best = 0;
  double least_wait = HUGE_VAL;
  for (std::int64_t r = 0; r <= most; ++r) {
    const double mine = now + static_cast<double>(r) * fast.interval;
    const double turns = std::max(1.0, std::ceil((mine - slow.last_push) / slow.interval));
    const double wait = slow.last_push + turns * slow.interval - mine;
    if (wait < least_wait) {
      least_wait = wait;
      best = r;
    }
  }
  return best;
}

}  // namespace psim
