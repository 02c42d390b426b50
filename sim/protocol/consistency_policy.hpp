// The logic of a consistency model: when a worker may start a clock, and which pushes make an update. psim's
// own models and the formulas of a scenario are such classes; a program adds others as rows of the table
// (ConsistencyRow::policy). One object serves every shard of a job and stores nothing itself: its memory is a
// list of numbers that belongs to the shard. The memory changes with each update. It goes to replicas and to
// the next owner with that update, and it is part of the hash of the shard's state.
//
// Decisions:
// - A question must not change anything: the simulator may ask it again.
// - All shards take the same pushes if three things hold: a worker waits for more than the arrival of its own
//   pushes (gate), some pushes may be late, and not every push makes an update by itself (is_in_turn). Then
//   the first shard decides. It tells the other shards its pushes and their weights (UpdateGroup). The others
//   call on_push only to learn whether they could make an update, too. In all other cases each shard decides
//   for itself, with its own memory. note_update is called at every shard.
// - A server that takes over one of the other shards learns which pushes earlier decisions took, but not
//   their weights. It asks on_timer for the weights.
// - An update takes the pushes of one worker in their order: it takes a push only with all earlier pushes of
//   that worker.
// - Estimates are numbers about time. They change whenever a push comes or a worker waits. They go to the
//   next owner only with the whole state of a shard; an owner that takes over by a log begins with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/protocol/ids.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/resolved_rule.hpp"
#include "sim/protocol/worker_clocks.hpp"

namespace psim {

// The properties of a policy on which other parts of the protocol rely. Workers that wait for a newer version
// (Gate::version) push once for each version, so stale pushes must not count. Where stale pushes do not
// count, a clock is a version, so the gate is `version` or `none`.
struct PolicyShape {
  Gate gate = Gate::none;
  std::int64_t group = 1;    // the smallest number of pushes that make an update
  bool varies = false;       // some updates have more
  bool shrinks = false;      // no update needs more pushes than there are workers that take part
  bool is_in_turn = false;   // each push makes an update when it comes, so several servers always agree
  bool drops_stale = false;  // only pushes computed at the current version count, and a clock is a version
  // Where stale pushes count: a push that is more updates old is always dropped; none: no age is too old.
  std::optional<std::int64_t> oldest = {};
  std::size_t memory = 0, estimates = 0;  // numbers of each
};

// What a shard tells its policy when it asks which pushes make an update.
struct ShardView {
  enum class Counted : std::uint8_t { all, of_members, one_of_each_worker };

  const WorkerClocks& clocks;        // of each worker, by its number
  const std::vector<Push>& pending;  // pushes that wait for an update, in the order of their arrival
  std::int64_t version = 0;          // updates so far
  double now = 0;                    // seconds
  // The date, in seconds, when the first of `pending` came, or the date of the last update if that is later.
  double waits_since = 0;
  double updated_at = 0;                 // the date of the last update, or at first of the first request
  NodeId first_worker = 0;               // the node of worker 0
  std::optional<std::size_t> came = {};  // which of `pending` has just come
  Counted counted = Counted::all;        // which of `pending` count for one update

  std::size_t worker_of(const Push& push) const { return push.worker - first_worker; }
  // The age, in updates, of the weights on which the push was computed.
  std::int64_t age_of(const Push& push) const { return version > push.version ? version - push.version : 0; }
  // Whether at least `pushes` of the pending pushes count for one update.
  bool has(std::int64_t pushes) const;
};

// A worker that wants to start `clock`.
struct StartView {
  const WorkerClocks& clocks;
  std::size_t worker = 0;
  std::int64_t clock = 0;
  std::int64_t version = 0;       // of the shard
  std::int64_t computed_on = -1;  // Gate::version: the version of the worker's last step; -1 before the first
  std::int64_t pushed = 0;        // its pushes; clocks[worker].applied of them were applied or dropped
  double now = 0;                 // seconds; for note_wait

  std::int64_t applied() const { return clocks[worker].applied; }
};

// What happens to the waiting pushes.
struct Decision {
  enum class What : std::uint8_t { hold, apply, drop };
  struct Share {
    std::size_t push = 0;  // its place in ShardView::pending
    // Not negative. Each push of an update counts as 1 over their number, times its weight: a weight of 0.5
    // for all of them halves the update. Staleness and samples change the weight further.
    double weight = 1;
  };
  What what = What::hold;
  bool all = false;  // apply: every pending push, each with weight 1
  std::vector<Share> shares = {};

  static Decision hold() { return {}; }
  static Decision apply_all() { return {.what = What::apply, .all = true}; }
  static Decision apply(std::vector<Share> shares) {
    return {.what = What::apply, .shares = std::move(shares)};
  }
  // Drops the push that has just come (ShardView::came) for good: it counts as arrived, but is part of no
  // update. Not allowed under Gate::version, where its worker waits for an update, nor while an earlier push
  // of its worker waits.
  static Decision drop() { return {.what = What::drop}; }
};

class ConsistencyPolicy {
 public:
  // The numbers of PolicyShape::memory, and after them the estimates; zeros at first.
  using Memory = std::span<const double>;
  using OwnMemory = std::span<double>;     // without the estimates
  using OwnEstimates = std::span<double>;  // only the estimates

  virtual ~ConsistencyPolicy() = default;
  virtual PolicyShape shape() const = 0;

  // The simulator asks when the worker's request comes, when one of its pushes comes, after each update, and
  // when workers finish, leave, or move the slowest clock. For a model with `group = Group::own` it also asks
  // when another worker's push comes. It does not ask because time passes. Under Gate::version it asks only
  // about workers that have computed a step, and the answer must be false until the shard has a newer
  // version.
  virtual bool may_start(const StartView& view, Memory memory) const = 0;
  // For the message about a run that is stuck.
  virtual std::string why_not(const StartView&, Memory) const { return {}; }
  // The clock that all workers must have finished before this worker may start `clock`, for the record of
  // causes; none: the worker waits for no clock, or for other reasons. Only clocks, worker and clock of the
  // view are set.
  virtual std::optional<std::int64_t> needed_clock(const StartView&, Memory) const { return std::nullopt; }
  // The last clock that any worker may start now. The simulator does not ask about workers beyond it.
  virtual std::int64_t last_clock(const WorkerClocks&) const {
    return std::numeric_limits<std::int64_t>::max() - 1;
  }

  // The simulator asks when a push has come that is not too stale. Without `came` it also asks after an
  // update, when a request comes, and when workers have finished, left or returned; then possibly no push
  // waits.
  virtual Decision on_push(const ShardView& view, Memory memory) const = 0;
  // For the message about a run that is stuck.
  virtual std::string why_no_update(const ShardView&, Memory) const { return {}; }
  // The date, in seconds, when the simulator asks on_timer while pushes wait. The date follows from the
  // memory, the pushes and `waits_since`, and not from `now`. If on_timer answers hold, the simulator asks
  // again only at a later date. The record gives the first waiting push as the cause of an update at this
  // date.
  virtual std::optional<double> closes_at(const ShardView&, Memory) const { return std::nullopt; }
  // The date of closes_at has come. Or no worker is left that could push more; this happens only where stale
  // pushes count. psim's own models take such dates from the fields `window` and `deadline`; scenarios of
  // other models do not have these fields.
  virtual Decision on_timer(const ShardView&, Memory) const { return Decision::apply_all(); }

  // These pushes are about to make an update.
  virtual void note_update(const ShardView&, const std::vector<Push>&, OwnMemory) const {}
  // A push has come. Called also for a push that is too late to count.
  virtual void note_push(const ShardView&, const Push&, OwnEstimates) const {}
  // This worker's request still waits, because may_start is false. may_start is asked again at once. Not
  // called under Gate::version.
  virtual void note_wait(const StartView&, OwnEstimates) const {}
};

// A whole consistency model in four answers, the same as those of a scenario's expressions ([consistency]
// model = "custom"): when a worker may start, when an update is made, what a push weighs, and which push
// comes too late. The shape follows from the answers.
class PlainModel : public ConsistencyPolicy {
 public:
  // `gate`: what `starts` looks at: Gate::version where every stale push is too late.
  PlainModel(Gate gate, std::int64_t workers) : gate_(gate), workers_(workers) {}

  struct Update {
    std::int64_t pushes = 0;   // pushes that wait for the update
    std::int64_t members = 0;  // workers that take part
    std::int64_t version = 0, min_clock = 0;
    // Of the members: those with a push that waits, the fewest such pushes of a member, and their harmonic
    // mean over the members; 0 if a member has none.
    std::int64_t distinct = 0, least = 0;
    double harmonic = 0;
  };
  // As many pushes as possible of each member.
  static Update evenly(std::int64_t pushes, std::int64_t members);
  virtual bool starts(const StartView& worker) const = 0;
  virtual bool makes_update(const Update& at) const = 0;
  // Of a push that is `age` updates old.
  virtual double weight(std::int64_t /*age*/) const { return 1; }
  // The same, if the push itself matters. With `is_whole_weight` the update is the mean of its pushes with
  // these weights, and the number of samples changes them no further.
  virtual double weight_of(const Push&, std::int64_t age) const { return weight(age); }
  virtual bool is_whole_weight() const { return false; }
  virtual bool is_too_late(std::int64_t /*age*/) const { return false; }
  // The most pushes of a worker for which the smallest update is looked for before a run.
  virtual std::int64_t most_of_worker() const { return 1; }
  // Whether an update of more than the smallest number of pushes may be made.
  virtual bool varies() const { return true; }

  PolicyShape shape() const override;
  bool may_start(const StartView& view, Memory) const final { return starts(view); }
  Decision on_push(const ShardView& view, Memory memory) const final;
  Decision on_timer(const ShardView& view, Memory memory) const final;

  static Update update_of(const ShardView& view);
  static constexpr std::int64_t most_ages = 1000;  // ages that are looked at before a run

 protected:
  std::int64_t workers() const { return workers_; }

 private:
  Gate gate_;
  std::int64_t workers_;
  mutable std::optional<PolicyShape> shape_ = {};  // once asked for
};

}  // namespace psim
