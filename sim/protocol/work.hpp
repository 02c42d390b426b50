// How many samples of a clock each worker computes. Pure.
//
// A clock has workers x batch_size samples. Decisions:
// - A push carries the samples of its batch. Where only fresh pushes count, its weight is its samples divided
//   by the mean of its group; elsewhere its samples divided by batch_size. So a clock's update is the mean
//   over its samples, however they are shared out.
// - With work = "dynamic" a worker reports its time per sample at the end of every work_every clocks. The
//   scheduler shares out the samples by the newest time of each worker. A worker without a known time counts
//   as fast as the mean of the others.
// - Where all workers are in one clock (bsp), every decision is for one clock and the later ones, and a
//   worker begins that clock only when it has the decision: sizes of two decisions in one clock would make
//   batches overlap. Workers do not prefetch batches of the next decision. The scheduler decides when all
//   workers that take part have reported. Where nodes may fail, it waits for the others recovery.timeout, and
//   ten times as long as the first report took since the last decision, but at most half of
//   recovery.patience. It remembers its decisions, because a worker that comes back, or that computes a clock
//   again after its shard was set back, asks for an old clock again.
// - Under every other model workers are in different clocks. Then the scheduler decides when the number of
//   new reports equals the number of workers that take part, and at once when a worker comes or goes.
//   Decisions are numbered. From its next step on a worker follows the newest decision that it knows. A
//   report says which decision its worker knows, and the scheduler answers with a newer one.
// - A worker that takes no part has no share in the next decision. Until then its samples are not computed;
//   with lost_data = "reassign" the others share them out from their next step on, as far as each knows the
//   members. A worker that comes back in the middle of a clock's decision computes nothing until the next
//   decision, so that no sample is computed twice.
// - If work is not dynamic, the samples of a worker that takes no part are not computed. With lost_data =
//   "reassign" the other workers compute its samples from their next step on.
// - The database sends one message at a time on each connection, so that prefetched batches do not slow down
//   the batch that is needed first. So each batch pays the latency.
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
  fixed,         // the same number for every worker
  proportional,  // by the speed that the scenario gives its machine
  dynamic,       // by its measured time per sample
  stealing,      // workers that have finished take samples of others; see stealing.hpp
};

// By worker: the samples of a clock that it computes.
using Sizes = std::vector<std::int64_t>;
using SharedSizes = std::shared_ptr<const Sizes>;

// Shares of `total` samples in proportion to `speeds`, rounded by the largest remainder (the first one of
// equal remainders), and at least 1 each. `total` must be at least the number of speeds, and all speeds must
// be positive.
Sizes share_out(std::int64_t total, const std::vector<double>& speeds);

// The same samples, shared out in proportion to `sizes` among the workers that take part. A worker without
// samples counts as the mean of the others.
Sizes share_among(const Sizes& sizes, const std::vector<bool>& members);

// The scheduler's use of measured times (Chen et al., Semi-dynamic load balancing, SoCC 2020).
class Balancer {
 public:
  struct Options {
    Sizes first = {};        // sizes at the start of the run
    double smoothing = 0.5;  // the newest time's weight in the exponential mean
    bool in_step = true;     // all workers are in the same clock
    // Seconds for which a decision waits for further reports after the first one. The wait also includes ten
    // times the time from the last decision to that first report. `longest` limits the whole wait. None: the
    // decision waits for all reports.
    std::optional<double> patience = {};
    double longest = 60;
    double begun = 0;            // date
    std::int64_t decisions = 0;  // an upper bound of the decisions of earlier lives of the scheduler
  };
  explicit Balancer(Options options);

  // The message to one worker. `clock`: the first clock of these sizes, or the number of the decision.
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
  // Which workers take part, by worker.
  Assignments set_members(const std::vector<bool>& members, double now);
  // The worker counts its clocks from 0 again.
  void is_new(std::uint32_t worker) { last_clock_[worker] = -1; }
  // The date when the next decision stops waiting.
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
