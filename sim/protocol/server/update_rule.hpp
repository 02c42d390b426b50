// The pending pushes of one shard, and which of them make the next update: the number that the consistency
// rule requires, those that have arrived at a date, or those that the first shard has chosen for all shards.
// Pure: dates come from outside, in seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/consistency.hpp"
#include "sim/protocol/consistency_policy.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/worker_clocks.hpp"

namespace psim {

// Pushes that wait for an update, in the order of their arrival. The class also counts the pending pushes of
// each worker, because every answer to one of ten thousand workers needs that count.

// The pushes of an update in worker order, and their relative weights; no weights: 1.
struct WeighedPushes {
  std::vector<Push> pushes = {};
  std::vector<double> weights = {};
};

class PendingPushes {
 public:
  PendingPushes(NodeId first_worker, std::size_t workers) : first_worker_(first_worker), counts_(workers) {}

  const std::vector<Push>& all() const { return pushes_; }
  bool empty() const { return pushes_.empty(); }
  std::uint32_t count_of(NodeId worker) const { return counts_[worker - first_worker_]; }

  void add(Push push) {
    ++counts_[push.worker - first_worker_];
    pushes_.push_back(std::move(push));
  }
  void remove(const PushId& id) {
    if (count_of(id.worker) == 0) return;
    const auto removed = std::erase_if(pushes_, [&](const Push& push) { return push.id() == id; });
    counts_[id.worker - first_worker_] -= static_cast<std::uint32_t>(removed);
  }
  Push take(std::vector<Push>::const_iterator push) {
    const auto place = pushes_.begin() + (push - pushes_.cbegin());
    Push result = std::move(*place);
    --counts_[result.worker - first_worker_];
    pushes_.erase(place);
    return result;
  }
  // The pushes that a policy has chosen, in worker order. Throws std::logic_error for an impossible decision.
  WeighedPushes take(const Decision& decision);
  std::vector<Push> take_all() {
    for (const Push& push : pushes_) counts_[push.worker - first_worker_] = 0;
    return std::exchange(pushes_, {});
  }

 private:
  void check_order(const std::vector<bool>& is_chosen) const;

  NodeId first_worker_;
  std::vector<Push> pushes_;
  std::vector<std::uint32_t> counts_;  // by worker's number
};

class UpdateRule {
 public:
  using Memory = ConsistencyPolicy::Memory;
  // Which shard decides which pushes make an update.
  enum class Decided : std::uint8_t {
    here,
    here_for_all,  // this is the first shard, which tells the others
    elsewhere,     // the first shard decides
  };
  static Decided decided(const ConsistencyRule& rule, std::uint32_t shard, std::uint32_t shards);
  struct Options {
    std::shared_ptr<const ConsistencyRule> rule;
    Decided decided = Decided::here;
    NodeId first_worker = 2;
  };
  explicit UpdateRule(Options options)
      : options_(std::move(options)),
        shape_(options_.rule->policy->shape()),
        pending_(options_.first_worker, static_cast<std::size_t>(options_.rule->workers)),
        last_computed_on_(
            options_.decided == Decided::elsewhere ? static_cast<std::size_t>(options_.rule->workers) : 0,
            -1),
        chosen_(last_computed_on_.size()) {}

  const std::vector<Push>& pending() const { return pending_.all(); }
  bool has(NodeId worker) const { return pending_.count_of(worker) > 0; }
  std::uint32_t count_of(NodeId worker) const { return pending_.count_of(worker); }  // of its pending pushes
  // The smallest number of the worker's pending pushes, or `number` if that is smaller.
  std::int64_t least_of(NodeId worker, std::int64_t number) const;
  // The last push of its worker so far has arrived; it may be pending or not.
  void note_version(const Push& push);
  // Whether the push is too late: no further update takes it.
  bool is_late(const Push& push, std::int64_t version) const;
  void add(const Push& push, double now);
  void remove(const PushId& id) { pending_.remove(id); }
  void remove_last() { pending_.take(pending().end() - 1); }
  // The pending push that `next` replaces, if an update takes one push of each worker: after a shard was set
  // back, a worker computes a version again.
  std::optional<Push> withdraw_for(const Push& next);
  void clear() { pending_.take_all(); }
  // All pending pushes except `but`, in worker order: sums never depend on the order of arrival.
  std::vector<Push> take_all(const std::vector<PushId>& but = {});
  // For a task: this push, or all pushes, in worker order.
  std::vector<Push> take_told(const std::optional<PushId>& push);

  // The next update, once all its pushes have arrived. `waits` tells whether a worker, given by its number,
  // will push nothing more before this shard has another version.
  using Waits = std::function<bool(std::uint32_t)>;
  struct Next {
    WeighedPushes update = {};  // without pushes: no update yet
    std::vector<Push> late = {};
    std::optional<UpdateGroup> decision = {};  // for all other shards
  };
  // `on_push`: the policy's decision about the push that has just come.
  Next next(const ShardView& view, Memory memory, const Waits& waits,
            const std::optional<Decision>& on_push = {});
  // Whether enough pushes have arrived, whichever shard decides.
  bool is_complete(const ShardView& view, Memory memory) const;
  // The shard as the policy sees it, with these workers and this version.
  ShardView view(const WorkerClocks& workers, std::int64_t version, double now) const;

  // The deadline of the next update starts now. A new owner does not know the earlier start.
  void begin(double now);
  // The first deadline starts at the first pull or push. After a warm-up a push may come first; a later pull
  // changes no date.
  void begin_first(double now) {
    if (!begun_) begin(now);
  }
  // The date when the next update closes with the pushes that have arrived by then; none: it waits for more
  // pushes.
  std::optional<double> closes_at(const ShardView& view, Memory memory) const;
  // Whether closes_at() is a window after the first push, and not a deadline after the last update.
  bool closes_by_window(const ShardView& view, Memory memory) const;
  // The push that made the update's condition true, if closes_at() is the grace after it.
  std::optional<PushId> closes_by_grace(const ShardView& view, Memory memory) const;

  // The same decisions for a part of the shard. `part_of` turns a pending push into the push for the part.
  UpdateRule part(Options options, const std::function<Push(const Push&)>& part_of) const;

  // First shard: notes its last decision.
  void was_made_of(std::vector<PushId> pushes, const std::vector<double>& weights);
  const UpdateGroup& last() const { return last_; }
  // Other shards: take a decision of the first shard.
  void hear(const UpdateGroup& decision, double now);
  // The version of the first shard for which a push is pending here without a known decision. Where late
  // pushes count: 0, if a push waits for a decision, or a decision waits for a push.
  std::optional<std::int64_t> lacks_decision() const;
  // A decision waits for pushes that may not come. If the decision came before `since`, the pushes that have
  // arrived make an update without them. Returns whether they do.
  bool waits_for_pushes() const { return !announced_.empty(); }
  bool stop_waiting(double since);
  // The date when this server last asked for that decision, or when the first push arrived that needs it.
  double asked() const { return asked_; }
  void ask(double now) { asked_ = now; }
  // This server becomes the owner of the shard. Only pending pushes tell on which versions their workers
  // computed.
  void forget_others();

  // Bytes of all pending pushes and known decisions.
  std::uint64_t bytes() const;

 private:
  struct FirstDecision {
    std::int64_t version;         // of the first shard
    std::vector<NodeId> workers;  // the workers whose pushes made its update
    std::vector<double> weights;  // of these pushes; none: 1
  };
  bool expects_more(const WorkerClocks& workers) const;
  Decision with_grace(const ShardView& view, Memory memory, const Waits& waits, Decision decision);
  // Whether a worker may push that has no pending push.
  bool awaits_worker(const WorkerClocks& workers, const Waits& waits) const;
  // By how much less the push counts because of its age at this shard.
  double divisor_of(const Push& push, const ShardView& view) const;
  std::map<PushId, double> own_weights(const ShardView& view, Memory memory) const;
  std::vector<double> weights_of(const std::vector<Push>& pushes, const std::map<PushId, double>& own);
  Next announced(const ShardView& view, Memory memory);
  void choose(const UpdateGroup& decision, std::vector<Push>& late);
  std::vector<Push> take_chosen();
  Next like_the_first(const ShardView& view, Memory memory, const Waits& waits);
  const FirstDecision* decision() const;
  std::optional<std::int64_t> least_first_version() const;
  std::uint32_t index_of(NodeId node) const { return node - options_.first_worker; }

  Options options_;
  PolicyShape shape_;
  PendingPushes pending_;
  UpdateGroup last_;
  struct Announced {
    UpdateGroup decision;
    double heard;
    bool is_overdue = false;  // the update no longer waits for its pushes
  };
  std::deque<Announced> announced_;             // not applied here yet
  std::deque<FirstDecision> decisions_;         // the last ones
  std::vector<std::int64_t> last_computed_on_;  // by worker, if decided elsewhere: its version; -1: unknown
  // Where late pushes count, by worker: the number of its first pushes that are in decisions already reached.
  std::vector<std::int64_t> chosen_;
  bool are_behind_ = false;  // some of these pushes may be pending
  // Where pushes weigh differently: the weights of chosen pushes that have not been applied here.
  std::map<PushId, double> chosen_weights_;
  double asked_ = 0;
  std::optional<double> begun_ = {};  // the start of the wait for the next update; set if a push is pending
  double first_came_ = 0;             // when the first pending push came
  struct Quorum {
    double date;
    PushId last;  // the push that came last by then
  };
  std::optional<Quorum> quorum_ = {};  // with a grace: the condition of the next update is true since then
  // The last date when the policy was asked to make an update and held.
  double held_at_ = -1;
};

}  // namespace psim
