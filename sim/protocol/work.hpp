// How many samples of a clock each worker computes. Pure.
//
// A clock has workers x batch_size samples. Decisions:
// - A push carries the samples of its batch. Where only fresh pushes count, it weighs its samples over the
//   mean of its group; elsewhere over batch_size. So a clock's update is the mean over its samples, however
//   they are shared out.
// - With work = "dynamic" a worker reports its time per sample at the end of every work_every clocks. The
//   scheduler shares out the samples by the newest time of each worker. A worker of which it knows none
//   counts as fast as the mean of the others.
// - Where all workers are in one clock (bsp), every decision is for one clock and those after it, and a
//   worker begins that clock when it has the decision: sizes of two decisions in one clock would make batches
//   overlap. Batches of the next decision are not asked for ahead. The scheduler decides when all who take
//   part have reported; where nodes may fail, it waits for the others recovery.timeout, and ten times as long
//   as the first one took since the last decision, but half of recovery.patience at most. It remembers what
//   it has decided, because a worker that comes back, or whose shard was set back, asks for an old clock
//   again.
// - Under every other model no clock is common. Then the scheduler decides after every as many reports as
//   workers take part, and at once when one comes or goes. Decisions are numbered. A worker takes the newest
//   one that it has heard of from its next step on. A report says which one that is, and the scheduler
//   answers with a newer one.
// - Who takes no part has no share in the next decision. Until then its samples are not computed; with
//   lost_data = "reassign" the others share them out from their next step on, as far as each knows who takes
//   part. Who comes back to the middle of a clock's decision computes none until the next one, so that no
//   sample is computed twice.
// - Of work that is not dynamic a worker that takes no part sees no samples. With lost_data = "reassign" the
//   others see its samples from their next step on.
// - The database keeps to one message at a time on each connection, so that batches asked for ahead do not
//   slow down the one that is needed first. Each batch therefore pays the latency.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace psim {

enum class WorkPolicy : std::uint8_t {
  fixed,         // every worker the same
  proportional,  // by the speed that the scenario gives its machine
  dynamic,       // by its measured time per sample
  stealing,      // workers that have finished take samples of others; see stealing.hpp
};

// By worker, the samples of a clock that it computes.
using Sizes = std::vector<std::int64_t>;
using SharedSizes = std::shared_ptr<const Sizes>;

// Shares of `total` samples in proportion to `speeds`: rounded by the largest remainder, the first of equal
// ones, and at least 1 each. `total` must be at least the number of speeds, and these positive.
Sizes share_out(std::int64_t total, const std::vector<double>& speeds);

// The same samples, shared out in proportion to `sizes` among those who take part. Who had none counts as the
// mean of the others.
Sizes share_among(const Sizes& sizes, const std::vector<bool>& members);

// The scheduler's use of measured times (Chen et al., Semi-dynamic load balancing, SoCC 2020).
class Balancer {
 public:
  struct Options {
    Sizes first = {};        // with which the run begins
    double smoothing = 0.5;  // the newest time's weight in the exponential mean
    bool in_step = true;     // all workers are in the same clock
    // Seconds for which a decision waits for reports after the first, beside ten times the time from the last
    // decision to that one; and at most. None: until all have come.
    std::optional<double> patience = {};
    double longest = 60;
    double begun = 0;            // date
    std::int64_t decisions = 0;  // that earlier lives of the scheduler may have made
  };
  explicit Balancer(Options options);

  // What a worker is to be told. `clock`: from which on, or the number of the decision.
  struct Assignment {
    std::uint32_t worker = 0;
    std::int64_t clock = 0;
    SharedSizes sizes = {};
  };
  using Assignments = std::vector<Assignment>;

  // Worker `worker` took `seconds_per_sample` seconds per sample (none: it has not measured) before `clock`,
  // and knows decision `known`.
  Assignments report(std::uint32_t worker, std::int64_t clock, std::optional<double> seconds_per_sample,
                     std::optional<std::int64_t> known, double now);
  // Who takes part, by worker.
  Assignments set_members(const std::vector<bool>& members, double now);
  // The worker counts its clocks anew.
  void is_new(std::uint32_t worker) { last_clock_[worker] = -1; }
  // When the next decision waits no longer.
  std::optional<double> next() const;
  Assignments overdue(double now);

 private:
  struct Round {
    double until = 0;  // date
    std::set<std::uint32_t> reported = {};
  };
  SharedSizes shares() const;
  bool is_complete(const Round& round) const;
  Assignments decide(std::int64_t clock, double now);
  // The open rounds that are due.
  Assignments decide_those(double now, const std::function<bool(const Round&)>& is_due);
  Assignments decide_apart();
  std::int64_t members() const;

  Options options_;
  std::vector<std::optional<double>> times_;  // exponential means, by worker
  std::vector<std::int64_t> last_clock_;      // by worker: of its last measurement
  std::vector<bool> takes_part_;
  std::map<std::int64_t, Round> rounds_;         // in step: open, by clock
  std::map<std::int64_t, SharedSizes> decided_;  // in step: by clock; else only the last, by number
  double decided_at_ = 0;                        // date of the last decision
  std::int64_t reports_ = 0;                     // since the last decision
};

}  // namespace psim
