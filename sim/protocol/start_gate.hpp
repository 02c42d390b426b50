// When a worker may start its next clock under a consistency rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/consistency.hpp"
#include "sim/protocol/worker_clocks.hpp"

namespace psim {

class StartGate {
 public:
  explicit StartGate(ConsistencyRule rule)
      : rule_(std::move(rule)), paces_(rule_.dynamic ? static_cast<std::size_t>(rule_.workers) : 0) {}

  // Worker number `worker` has pushed, at `now`, in seconds.
  void pushed(std::size_t worker, double now);
  // Whether it may start `clock` after `pushes_sent` pushes, given that it has the version for which it
  // asked. dssp may grant it more clocks now.
  bool may_start(std::size_t worker, std::int64_t clock, std::int64_t pushes_sent, const WorkerClocks& clocks,
                 double now);
  // The same, without a new grant.
  bool is_open(std::size_t worker, std::int64_t clock, std::int64_t pushes_sent,
               const WorkerClocks& clocks) const;
  // The clock that all workers must have finished for this one to start `clock`; none: it waits for no clock,
  // or for what an expression of the scenario's asks.
  std::optional<std::int64_t> needed_clock(std::size_t worker, std::int64_t clock) const;
  // No pull for a later clock may start now, whatever its worker has done.
  std::int64_t last_clock(const WorkerClocks& clocks) const;

 private:
  // dssp, by worker.
  struct Pace {
    double last_push = 0, interval = 0;  // seconds
    std::int64_t granted = -1;           // may start clocks up to this one
  };
  void grant(std::size_t worker, std::int64_t clock, const WorkerClocks& clocks, double now);
  std::int64_t extra_clocks(const Pace& fast, const Pace& slow, double now) const;

  ConsistencyRule rule_;
  std::vector<Pace> paces_;
};

}  // namespace psim
