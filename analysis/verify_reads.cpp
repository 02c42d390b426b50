// Checks the versions that workers see, and the distance between their clocks.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/clock_progress.hpp"
#include "analysis/decisions.hpp"
#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

// Pulls and pushes of a worker to a shard since the worker last started.
struct Asked {
  struct Pull {
    std::int64_t above = -1, pushes = 0;
    std::set<std::int64_t> epochs = {};  // in which it was sent; the worker listens to the last epoch
  };
  std::map<std::int64_t, Pull> pulls = {};  // by number, not answered yet
  std::int64_t answered = 0;                // the last pull with an answer at the worker
  std::int64_t next = 0;                    // the clock after its last push
};

// The requests of all workers.
class Requests {
 public:
  using Id = std::pair<std::uint32_t, std::uint32_t>;  // shard, worker's node
  void on(const Row& row, const Facts& facts) {
    if (!facts.is_worker(row.node)) return;
    if (row.is("received", "weights")) return receives(row);
    if (row.is("sent", "join"))
      std::erase_if(asked_, [&](const auto& one) { return one.first.second == row.node; });
    if (row.is("sent", "push")) {
      std::int64_t& next = asked_[{row.shard, row.node}].next;
      next = std::max(next, row.clock + 1);
    }
    if (!row.is("sent", "pull")) return;
    Asked& asked = asked_[{row.shard, row.node}];
    // A repeated pull may wait in a queue until the answer to the first pull has arrived.
    if (row.pull <= asked.answered) return;
    const Asked::Pull pull{.above = row.above, .pushes = row.pushes_before};
    asked.pulls.try_emplace(row.pull, pull).first->second.epochs.insert(row.epoch);
  }
  // The pull that these weights answer; forgets earlier pulls. None if the worker has sent a newer pull: it
  // takes only the answer to its last pull, so this answer is late. None in an epoch in which the worker has
  // not asked: a replaced owner may answer a pull from before a crash of the worker, and after the crash its
  // pulls count from 1 again.
  std::optional<Asked::Pull> answered(const Row& weights) {
    std::map<std::int64_t, Asked::Pull>& pulls = asked_[{weights.shard, weights.peer}].pulls;
    const auto pull = pulls.find(weights.pull);
    if (pull == pulls.end() || std::next(pull) != pulls.end()) return std::nullopt;
    if (!pull->second.epochs.contains(weights.epoch)) return std::nullopt;
    pulls.erase(pulls.begin(), pull);
    return pull->second;
  }
  // The clock that the worker may start with the weights: the requested clock; or the next clock, if the
  // worker has pushed the requested one to the shard, or to the shard that this one was cut from. A new owner
  // also gets pulls from workers that already have weights and may compute before it answers.
  std::int64_t next_clock(const Row& weights, const History& history) const {
    std::int64_t next = weights.clock;
    for (std::optional<std::uint32_t> shard = weights.shard; shard; shard = history.cut_from(*shard)) {
      const auto asked = asked_.find({*shard, weights.peer});
      if (asked != asked_.end()) next = std::max(next, asked->second.next);
    }
    return next;
  }

 private:
  // The worker listens only to its own epoch. It ignores a second answer, and an answer to an earlier pull,
  // which may have been repeated late.
  void receives(const Row& weights) {
    Asked& asked = asked_[{weights.shard, weights.node}];
    const auto pull = asked.pulls.find(weights.pull);
    if (pull == asked.pulls.end() || *pull->second.epochs.rbegin() != weights.epoch) return;
    asked.answered = weights.pull;
    asked.pulls.erase(asked.pulls.begin(), std::next(pull));
  }

  std::map<Id, Asked> asked_;
};

// The workers that wait for an owner and do not push before it answers.
class Waiting {
 public:
  void on(const Row& row, const Facts& facts) {
    const bool stops = row.is("ended") || row.is("cancelled") || row.is("killed");
    if (row.is_step() && row.is("begun")) computing_.insert(row.node);
    if (row.is_step() && stops) computing_.erase(row.node);
    if (row.is("sent", "push")) under_way_[{row.shard, row.node}] = row.push;
    if (row.is("sent", "weights") && facts.is_worker(row.peer))
      answered_[{row.shard, row.node, row.peer}] = row.at;
    if (row.is("received", "push") || row.is("received", "pull"))
      answered_[{row.shard, row.node, row.peer}] = HUGE_VAL;
    if (!row.is("received", "push")) return;
    add(arrived_[{row.shard, row.node, row.peer, row.epoch}], row.push);
    const auto sent = under_way_.find({row.shard, row.peer});
    if (sent != under_way_.end() && sent->second <= row.push) under_way_.erase(sent);
  }
  // Whether all participants wait, including those that are answered together with this pull.
  bool all(const Row& answer, const Ownership& owner, const Facts& facts) const {
    for (std::uint32_t w = 0; w < owner.workers.size(); ++w) {
      const std::uint32_t node = 1 + facts.servers + w;
      const auto last = answered_.find({answer.shard, answer.node, node});
      const bool waits = last != answered_.end() && last->second >= answer.at && !computing_.contains(node) &&
                         !lacks_push(answer, node, owner.workers[w]);
      if (owner.workers[w].member && !waits) return false;
    }
    return true;
  }

 private:
  // Whether a push of the worker is on its way that the server lacks. A push that the server has may come
  // again if its acknowledgement is late, or if a new owner got it from the last owner.
  bool lacks_push(const Row& answer, std::uint32_t node, const Count& count) const {
    const auto sent = under_way_.find({answer.shard, node});
    if (sent == under_way_.end() || sent->second < count.here()) return false;
    const auto here = arrived_.find({answer.shard, answer.node, node, answer.epoch});
    return here == arrived_.end() || !has(here->second, sent->second);
  }

  // By shard, server and worker: the date of the last answer; infinity, if the worker has sent something
  // since.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, double> answered_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> under_way_;  // pushes, by shard and worker
  // By shard, server, worker and epoch: the pushes that arrived while the server listened to that epoch.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>, Numbers> arrived_;
  std::set<std::uint32_t> computing_;
};

// The owner that answers a pull; null for other events, and before the first push.
const Ownership* answering(const Row& row, const History& history) {
  return row.is("sent", "weights") ? history.find(row.shard, row.node) : nullptr;
}

class Reads final : public Check {
 public:
  explicit Reads(const Evidence& evidence) : Check(evidence, "reads", promise_of(evidence.facts.model)) {
    const bool bounded = model_ == "ssp" || model_ == "dssp";
    if (!newer_ && !own_ && !bounded) does_not_apply();
  }

  void on(const Row& row) override {
    requests_.on(row, facts_);
    waiting_.on(row, facts_);
    decisions_.on(row);
    const Ownership* owner = answering(row, history_);
    if (owner == nullptr) return;
    examined();
    const std::optional<Asked::Pull> pull = requests_.answered(row);
    if (newer_) return look_at_version(row, *owner, pull);
    if (own_) {
      if (pull && owner->workers[worker(row.peer)].counted() < pull->pushes)
        violated(row, "{} sends shard {} to {} before it has applied its push {}", name(row.node), row.shard,
                 name(row.peer), pull->pushes - 1);
      return;
    }
    const std::int64_t least = row.clock - facts_.bound_at(row.clock, row.shard).value_or(row.clock);
    const std::int64_t decided = decisions_.earliest(row);
    for (std::uint32_t w = 0; w < owner->workers.size(); ++w) {
      const Count& count = owner->workers[w];
      if (count.is_awaited_since(decided) && count.clock() < least)
        violated(row,
                 "{} lets {} start clock {} with shard {}, which has worker {}'s pushes up to "
                 "clock {}, not {}",
                 name(row.node), name(row.peer), row.clock, row.shard, w, count.clock(), least);
    }
  }

 private:
  static std::string promise_of(const std::string& model) {
    if (model == "bsp") return "a worker that starts clock t sees all pushes of clock t-1, and no others";
    if (model == "k-sync") return "a worker that starts its next clock sees a newer version";
    if (model == "k-async") return "a worker that starts a clock sees its own last push applied";
    return "a worker that starts clock t sees all others' pushes up to clock t-1-s";
  }

  // A shard that lost updates or pushes answers with the version it has. Under k-sync a shard repeats the
  // last version if all workers wait and too few pushes have arrived for an update.
  void look_at_version(const Row& row, const Ownership& owner, const std::optional<Asked::Pull>& pull) {
    if (!pull) return;  // a late repetition: the worker has continued
    const bool all_wait = !exact_ && waiting_.all(row, owner, facts_);
    const bool lossy = history_.shard(row.shard).set_back || all_wait;
    const bool old = row.version <= pull->above && !lossy;
    // A worker past the requested clock does not start with a version that it has used already.
    const bool fits = row.version == row.clock || row.version == requests_.next_clock(row, history_);
    const bool other = exact_ && !fits && !history_.any_set_back() && !history_.was_away(row.peer);
    if (old || other)
      violated(row, "{} lets {} start clock {} with version {} of shard {}", name(row.node), name(row.peer),
               row.clock, row.version, row.shard);
  }

  const std::string& model_ = facts_.model;
  const bool exact_ = model_ == "bsp", newer_ = exact_ || model_ == "k-sync", own_ = model_ == "k-async";
  Requests requests_;
  Waiting waiting_;
  Decisions decisions_;
};

class ReadMyWrites final : public Check {
 public:
  explicit ReadMyWrites(const Evidence& evidence)
      : Check(evidence, "read-my-writes", "a pull is answered only when all pushes before it have arrived") {}

  void on(const Row& row) override {
    requests_.on(row, facts_);
    if (row.is("received", "push")) add(arrived_[{row.shard, row.node, row.peer, row.epoch}], row.push);
    const Ownership* owner = answering(row, history_);
    const std::optional<Asked::Pull> pull = owner == nullptr ? std::nullopt : requests_.answered(row);
    if (!pull) return;
    examined();
    const Numbers& here = arrived_[{row.shard, row.node, row.peer, row.epoch}];
    const Count& count = owner->workers[worker(row.peer)];
    for (std::int64_t number = count.here(); number < pull->pushes; ++number) {
      if (has(here, number)) continue;
      violated(row, "{} answers pull {} of {} for shard {}, though its push {} has not arrived",
               name(row.node), row.pull, name(row.peer), row.shard, number);
      return;
    }
  }

 private:
  Requests requests_;
  // By shard, server, worker and epoch: a server listens only to its own epoch.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>, Numbers> arrived_;
};

class ClockGap final : public Check {
 public:
  explicit ClockGap(const Evidence& evidence)
      : Check(evidence, "clock-gap",
              "no worker starts a clock further ahead of another than the staleness bound"),
        progress_(facts_, history_) {
    if (!facts_.bound_at(0)) does_not_apply();
  }

  void on(const Row& row) override {
    const auto start = progress_.on(row);
    if (!start) return;
    examined();
    const std::int64_t bound = *facts_.bound_at(row.clock) + facts_.pull_every - 1 + slack();
    if (start->gap > bound)
      violated(row, "{} starts clock {}, {} ahead of worker {}; the bound is {}", name(row.node), row.clock,
               start->gap, start->slowest, bound);
  }

 private:
  // With overlap a clock starts with the first array, and an array is pushed before its clock ends. If arrays
  // have their own bounds, the strictest bound may have held up the clock before.
  std::int64_t slack() const {
    if (facts_.overlap) return facts_.shard_bounds.empty() ? 1 : 2;
    return facts_.elastic ? 1 : 0;
  }

  ClockProgress progress_;
};

}  // namespace

void add_read_checks(const Evidence& evidence, Checks& checks) {
  add_checks<Reads, ClockGap, ReadMyWrites>(evidence, checks);
}

}  // namespace psim::analysis
