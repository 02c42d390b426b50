#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/verify/checks.hpp"

namespace psim::analysis {

// Computes the times of detection and takeover, and the times of the disk of the storage node, only from the
// events.

// Checks the workers that the scheduler found slow, from the events of computations.

namespace {

// If the mean of a worker is above `factor` times the median of the means of others, then some time of this
// worker is above `factor` times some time of another worker. This holds even if reports were lost or late.
class Slow final : public Check {
 public:
  explicit Slow(const Evidence& evidence)
      : Check(evidence, "slow"), steps_(facts_.workers), times_(facts_.workers) {
    if (!(facts_.slow_factor > 0)) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is<Computation>()) on_computation(row);
    if (row.is_crash() && row.peer == scheduler) known_.clear();  // it forgets the workers that it had found
    const bool comes = row.is<FaultChange>() && row.fault()->joins;
    if ((row.takes_away() || comes) && facts_.is_worker(row.peer)) ends_life(row);
    if (!row.is<SlowWorker>()) return;
    examined();
    const std::uint32_t slow = worker(row.peer);
    found_.insert(slow);
    if (!known_.insert(slow).second) violated(row, "{} is found slow again", name(row.peer));
    double least = HUGE_VAL;
    for (std::uint32_t w = 0; w < times_.size(); ++w) {
      if (w != slow && times_[w]) least = std::min(least, times_[w]->least);
    }
    constexpr double rounding = 1e-9;
    if (!times_[slow] || !(times_[slow]->most * (1 + rounding) > facts_.slow_factor * least))
      violated(row, "{} is found slow, and never took {:.3g} times as long for a sample as another",
               name(row.peer), facts_.slow_factor);
  }

  void at_end(std::int64_t) override {
    std::set<std::uint32_t> told;
    for (const Json& one : summary_.at("slow_workers")) told.insert(one.at("worker").get<std::uint32_t>());
    examined();
    if (told != found_)
      violated("the summary has {} slow workers, the events {}, or others", told.size(), found_.size());
  }

 private:
  static constexpr std::uint32_t scheduler = 0;
  // A leaving worker finishes its current step first, and may be found slow until then.
  void ends_life(const Row& row) {
    std::optional<Times>& times = times_[worker(row.peer)];
    known_.erase(worker(row.peer));
    if (row.is_crash() && times) times->most = 0;
  }
  struct Times {
    double least = HUGE_VAL, most = 0;  // seconds a sample
  };
  // A computation, with `seconds` of work before `since`. Pauses do not count: missing weights, a filter for
  // messages in between, samples of another worker's batch.
  struct Step {
    double seconds = 0, since = 0;
    int halts = 0;
  };
  void on_computation(const Row& row) {
    Step& step = steps_[worker(row.node)];
    const bool begun = row.is(ComputePhase::begun), ended = row.is(ComputePhase::ended);
    if (row.is_step() && begun) step = {.since = row.at};
    else if ((begun || row.is(ComputePhase::paused)) && step.halts++ == 0)
      step.seconds += row.at - step.since;
    if (row.is_step() && ended) return on_time(row, step.seconds + (row.at - step.since));
    if ((ended || row.is(ComputePhase::resumed)) && --step.halts == 0) step.since = row.at;
  }
  void on_time(const Row& row, double seconds) {
    if (row.samples == 0) return;
    std::optional<Times>& times = times_[worker(row.node)];
    if (!times) times.emplace();
    times->least = std::min(times->least, seconds / static_cast<double>(row.samples));
    times->most = std::max(times->most, seconds / static_cast<double>(row.samples));
  }

  std::vector<Step> steps_;  // the last step of each worker
  std::vector<std::optional<Times>> times_;
  std::set<std::uint32_t> found_;
  std::set<std::uint32_t> known_;  // workers that the current scheduler has found slow
};

}  // namespace

void add_slow_check(const Evidence& evidence, Checks& checks) { add_checks<Slow>(evidence, checks); }

// Checks the data that survive a change of owner, and which servers may still act for a shard.

namespace {

class Acknowledged final : public Check {
 public:
  explicit Acknowledged(const Evidence& evidence) : Check(evidence, "acknowledged") {
    if (facts_.copies == 0 || facts_.window > 0) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is<Acknowledgement>()) hears(row);
    // A late owner already had a successor before it began, so no later owner continues its state.
    if (row.is<Promotion>()) takes_promises(row.shard);
    if (row.is<Promotion>() && history_.owner(row.shard)->epoch == row.epoch) {
      Takeover& takeover = takeovers_[row.shard];
      takeover = {.node = row.node,
                  .covered = history_.copy_was_there(),
                  .from_nothing = history_.copy_was_there() ? takeover.from_nothing : row.epoch,
                  .workers = {}};
      for (std::uint32_t w = 0; w < facts_.workers; ++w) takeover.workers.insert(w);
    }
    if (row.is<Recount>()) count(row);
  }
  void at_end(std::int64_t) override {
    if (excused_ > 0) set_note("{} safe pushes were lost when no full copy was left: allowed", excused_);
  }

 private:
  struct Takeover {
    std::uint32_t node = 0;
    bool covered = false;                  // a live node had a full copy
    std::int64_t from_nothing = 0;         // the last epoch that began without a full copy
    std::set<std::uint32_t> workers = {};  // workers whose counts the new owner has not reported yet
  };

  // A part of a cut shard keeps the promises about the whole. From the cut on, promises about the old number
  // concern only the other part.
  void takes_promises(std::uint32_t part) {
    const std::optional<std::uint32_t> whole = history_.cut_from(part);
    if (!whole || !parts_.insert(part).second) return;
    takes_promises(*whole);
    for (std::uint32_t w = 0; w < facts_.workers; ++w) {
      for (const auto& [epoch, safe] : told_[{*whole, w}]) {
        if (epoch >= history_.cut_epoch(part)) continue;
        told_[{part, w}][epoch] = safe;
        safe_[{part, w}] = std::max(safe_[{part, w}], safe);
      }
    }
  }

  // A promise by an owner from before the loss of the last full copy cannot be kept.
  void hears(const Row& row) {
    examined();
    const std::int64_t pushes = row.as<Acknowledgement>().pushes;
    std::int64_t& safe = safe_[{row.shard, worker(row.node)}];
    std::int64_t& told = told_[{row.shard, worker(row.node)}][row.epoch];
    told = std::max(told, pushes);
    if (row.epoch >= takeovers_[row.shard].from_nothing) safe = std::max(safe, pushes);
    else excused_ += std::max<std::int64_t>(0, pushes - safe);
  }

  // The new owner reports its counts for a worker.
  void count(const Row& row) {
    const auto found = takeovers_.find(row.shard);
    const std::uint32_t w = worker(row.peer);
    if (found == takeovers_.end() || found->second.node != row.node || found->second.workers.erase(w) == 0)
      return;
    const Ownership& owner = *history_.find(row.shard, row.node);
    std::int64_t& safe = safe_[{row.shard, w}];
    const std::int64_t in_hand = facts_.every_push ? row.as<Recount>().arrived : 0;
    for (std::int64_t number = in_hand; number < safe; ++number) {
      if (owner.in_lineage(w, number) || history_.will_not_come(row.shard, w, number)) continue;
      if (found->second.covered)
        violated(row,
                 "{} takes over shard {} at version {} without push {} of worker {}, which was told "
                 "that its first {} are safe",
                 name(row.node), row.shard, owner.from, number, w, safe);
      else excused_ += safe - number;
      safe = number;
      for (auto& [epoch, told] : told_[{row.shard, w}]) told = std::min(told, safe);  // also for later parts
    }
  }

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> safe_;  // by shard and worker
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::int64_t, std::int64_t>> told_;  // and epoch
  std::map<std::uint32_t, Takeover> takeovers_;                                                   // by shard
  std::set<std::uint32_t> parts_;  // shards that were cut from others and have had an owner
  std::int64_t excused_ = 0;
};

class OneOwner final : public Check {
 public:
  explicit OneOwner(const Evidence& evidence) : Check(evidence, "one-owner") {}

  void on(const Row& row) override {
    if (row.is<Acknowledgement>() && facts_.copies > 0 && facts_.window == 0) return hears(row);
    if (!row.is<Promotion>()) return;
    examined();
    const std::string who = name(row.node);
    if (history_.epoch_taken())
      violated(row, "{} owns shard {} in epoch {}, which had an owner", who, row.shard, row.epoch);
    std::int64_t& last = last_[{row.shard, row.node}];
    if (row.epoch <= last)
      violated(row, "{} owns shard {} in epoch {} after epoch {}", who, row.shard, row.epoch, last);
    last = std::max(last, row.epoch);
  }

 private:
  // A server must not confirm a push that it applied after another server had replaced it.
  void hears(const Row& row) {
    const std::uint32_t w = worker(row.node);
    const std::int64_t safe = row.as<Acknowledgement>().pushes;
    const std::int64_t told = std::exchange(told_[{row.shard, w}], safe);
    const Ownership* owner = history_.find(row.shard, row.peer);
    if (owner == nullptr) return;
    examined();
    const ShardHistory& shard = history_.shard(row.shard);
    const auto next = shard.ownerships.upper_bound(owner->epoch);
    if (next == shard.ownerships.end() || owner->holders.size() < 2) return;
    for (auto one = owner->applications.rbegin(); one != owner->applications.rend(); ++one) {
      if (one->event < next->second.promoted) return;
      if (one->worker != w || one->number < told || one->number >= safe ||
          shard.owner().in_lineage(w, one->number))
        continue;
      violated(row, "{} hears from {} that its push {} to shard {} is safe, applied after {} had taken over",
               name(row.node), name(row.peer), one->number, row.shard, name(next->second.node));
    }
  }

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> last_;  // epoch, by shard and server
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> told_;  // by shard and worker
};

class Replicas final : public Check {
 public:
  explicit Replicas(const Evidence& evidence) : Check(evidence, "replicas") {
    if (facts_.copies == 0) does_not_apply();
  }
  void on(const Row& row) override {
    if (!row.is<Promotion>() || !row.as<Promotion>().weights_hash) return;
    const Ownership::Hashes here(row.as<Promotion>());
    const std::optional<Ownership::Hashes> there = history_.find(row.shard, row.node)->hashes_at(row.version);
    if (!there || there->weights == 0) return;
    examined();
    const bool same_weights = there->weights == here.weights, same_state = there->state == here.state;
    if (same_weights && same_state) return;
    violated(row, "{} takes over shard {} at version {} with {} than its owner had then", name(row.node),
             row.shard, row.version, same_weights ? "another optimizer state" : "other weights");
  }
};

}  // namespace

void add_replica_checks(const Evidence& evidence, Checks& checks) {
  add_checks<Acknowledged, OneOwner, Replicas>(evidence, checks);
}

namespace {

// The crash of a server, and its later course in the events.
struct Outage {
  std::uint32_t node = 0;
  double at = 0;
  std::set<std::uint32_t> shards = {};  // that it owned, and that have no owner since
  bool knows = false;                   // the scheduler knows: its next view says so
  std::optional<double> announced = {}, fetched = {};
  bool had_shards = false;              // according to the events so far
  std::set<std::uint32_t> others = {};  // shards of other servers, according to the events so far
  bool is_unsure = false;               // the first request was for a shard with an unknown owner
};

// Compares the times of recoveries with the summary.
class RecoveryTimes : public Check {
 protected:
  using Check::Check;
  // A message to the scheduler shows that its sender is up (again, after a crash).
  static bool shows_life(const Row& row) {
    using enum MessageKind;
    return row.node == 0 && row.is<Received>(join, heartbeat, leave);
  }
  static std::optional<double> span(std::optional<double> from, std::optional<double> to) {
    return from && to ? std::optional(*to - *from) : std::nullopt;
  }
  void compare(const std::string& whose, const char* key, std::optional<double> counted, const Json& told) {
    const Json& value = told.at(key);
    const bool agree =
        counted ? value.is_number() && std::abs(value.get<double>() - *counted) <= 1e-9 : value.is_null();
    if (agree) return;
    violated("{}, crash at {:.9g} s: {} is {} in the events, {} in the summary", whose,
             told.at("at_s").get<double>(), key, counted ? fmt::format("{:.9g}", *counted) : "not there",
             value.dump());
  }
};

class Recoveries final : public RecoveryTimes {
 public:
  explicit Recoveries(const Evidence& evidence) : RecoveryTimes(evidence, "recovery") {}

  void on(const Row& row) override {
    // Identifies only the first owner: a replaced owner may not know yet that it is replaced.
    if (row.is<ModelUpdate>() && !epoch_.contains(row.shard)) owner_[row.shard] = row.node;
    if (row.is<Sent>(MessageKind::weights) && facts_.is_server(row.node))
      owner_.try_emplace(row.shard, row.node);
    if (row.is<Sent>(MessageKind::restore)) on_restore(row);
    if (shows_life(row) && facts_.is_server(row.peer)) on_receipt(row);
    if (row.is<Suspicion>()) {
      learns_.insert(row.peer);
      is_known(row.peer);
    }
    if (row.is<ViewChange>()) on_view(row.at);
    if (row.is<Promotion>()) on_promotion(row);
    if (row.is_crash() && facts_.is_server(row.peer)) on_crash(row);
  }

  void at_end(std::int64_t) override {
    if (!summary_.contains("failures")) return does_not_apply();
    for (const Json& told : summary_.at("failures").at("recoveries")) {
      if (told.contains("worker")) continue;  // see Regroupings
      const auto node = 1 + told.at("server").get<std::uint32_t>();
      const double at = told.at("at_s");
      const auto outage = std::ranges::find_if(
          outages_, [&](const Outage& one) { return one.node == node && !(std::abs(one.at - at) > 1e-12); });
      examined();
      if (outage == outages_.end()) {
        violated("{} did not crash at {:.9g} s", name(node), at);
        continue;
      }
      compare(name(node), "detection_s", span(at, outage->announced), told);
      if (!outage->fetched || !outage->announced || !outage->had_shards || outage->is_unsure) continue;
      compare(name(node), "takeover_s", std::max(0.0, *outage->fetched - *outage->announced), told);
    }
  }

 private:
  void on_restore(const Row& row) {
    for (Outage& outage : outages_) {
      if (outage.fetched || outage.others.contains(row.shard)) continue;
      outage.fetched = row.at;
      outage.is_unsure = !outage.shards.contains(row.shard);
    }
  }
  void on_receipt(const Row& row) {
    down_.erase(row.peer);
    learns_.erase(row.peer);
    is_known(row.peer);
  }
  void is_known(std::uint32_t node) {
    for (Outage& outage : outages_) outage.knows = outage.knows || outage.node == node;
  }
  void on_promotion(const Row& row) {
    if (row.epoch < epoch_[row.shard]) return;  // not from the newest owner
    epoch_[row.shard] = row.epoch;
    owner_[row.shard] = row.node;
    for (Outage& outage : outages_) {
      if (outage.shards.erase(row.shard) > 0 && outage.shards.empty() && !outage.fetched)
        outage.fetched = row.at;
    }
  }
  void on_view(double at) {
    for (Outage& outage : outages_) {
      if (outage.knows && !outage.announced) outage.announced = at;
    }
    down_.merge(learns_);
    learns_.clear();
  }
  void on_crash(const Row& row) {
    learns_.erase(row.peer);
    Outage outage{.node = row.peer, .at = row.at};
    for (const auto& [shard, owner] : owner_) {
      (owner == row.peer ? outage.shards : outage.others).insert(shard);
    }
    outage.had_shards = !outage.shards.empty();
    // After the end of a job its shards have no owner.
    for (const double end : facts_.job_ends) outage.is_unsure = outage.is_unsure || row.at >= end;
    if (down_.contains(row.peer)) outage.announced = row.at;  // it was already suspected
    for (Outage& earlier : outages_) {
      if (earlier.node == row.peer && !earlier.announced) earlier.knows = false;
    }
    outages_.push_back(std::move(outage));
  }

  std::map<std::uint32_t, std::uint32_t> owner_;  // by shard, according to the events so far
  std::map<std::uint32_t, std::int64_t> epoch_;   // by shard: epoch of this owner
  // Servers that the next view (learns_) or an earlier view (down_) counts as down.
  std::set<std::uint32_t> learns_, down_;
  std::vector<Outage> outages_;
};

// Without servers: when a lost worker was noticed, when a group that knows of the loss began, and when the
// current step of the crash was done.
class Regroupings final : public RecoveryTimes {
 public:
  explicit Regroupings(const Evidence& evidence) : RecoveryTimes(evidence, "regrouping") {
    if (facts_.has_servers) does_not_apply();
  }

  void on(const Row& row) override {
    if (shows_life(row) && facts_.is_worker(row.peer)) on_receipt(row);
    if (row.is<Suspicion>()) told_.insert(row.peer);
    if (row.is<ViewChange>()) on_view(row.at);
    if (row.is<Participant>()) on_participant(row);
    if (row.is<Finish>()) through_.insert(row.node);
    if (row.is<Sent>(MessageKind::regroup))
      each([](Loss& one) { one.agreed = one.agreed || one.announced.has_value(); });
    if (row.is_step(ComputePhase::begun)) on_begin(row.at);
    if (row.is<ModelUpdate>()) on_update(row);
    if (!row.is_crash() || !facts_.is_worker(row.peer)) return;
    told_.erase(row.peer);
    back_.erase(row.peer);
    if (!through_.contains(row.peer)) {
      losses_.push_back({.node = row.peer, .at = row.at, .version = version_});
      if (known_.contains(row.peer)) losses_.back().announced = row.at;
    }
  }

  void at_end(std::int64_t) override {
    if (!summary_.contains("failures")) return does_not_apply();
    const Json& rows = summary_.at("failures").at("recoveries");
    examined();
    if (rows.size() != losses_.size())
      return violated("{} workers were lost, and the summary has {}", losses_.size(), rows.size());
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      const Loss& one = losses_[i];
      examined(3);
      const std::string whose = fmt::format("worker {}", rows[i].at("worker").get<int>());
      compare(whose, "detection_s", span(one.at, one.announced), rows[i]);
      compare(whose, "reforming_s", span(one.announced, one.begun), rows[i]);
      compare(whose, "total_s", span(one.at, one.done), rows[i]);
    }
  }

 private:
  struct Loss {
    std::uint32_t node = 0;
    double at = 0;
    std::int64_t version = 0;  // of the newest copy
    bool agreed = false;
    std::optional<double> announced = {}, begun = {}, done = {};
  };
  template <class Action>
  void each(Action action) {
    for (Loss& one : losses_) action(one);
  }
  // A worker that returns before anyone notices its absence reports it itself.
  void on_receipt(const Row& row) {
    known_.erase(row.peer);
    through_.erase(row.peer);
    const bool is_news =
        std::ranges::any_of(losses_, [&](const Loss& one) { return one.node == row.peer && !one.announced; });
    if (is_news) back_.insert(row.peer);
  }
  void on_view(double at) {
    participants_ = 0;
    each([&](Loss& one) {
      if (!one.announced && (told_.contains(one.node) || back_.contains(one.node))) one.announced = at;
    });
    for (const std::uint32_t node : told_) {
      if (!back_.contains(node)) known_.insert(node);
    }
    told_.clear();
    back_.clear();
  }
  // The first group also knows of workers that crashed before it existed and returned in time.
  void on_participant(const Row& row) {
    if (row.view == 0 && participants_ == 0) {
      each([&](Loss& one) {
        if (one.announced || back_.erase(one.node) == 0) return;
        one.announced = row.at;
        one.agreed = true;
      });
    }
    ++participants_;
  }
  void on_begin(double at) {
    each([&](Loss& one) {
      if (!one.begun && (one.agreed || (one.announced && participants_ == 1))) one.begun = at;
    });
  }
  void on_update(const Row& row) {
    version_ = row.version;
    each([&](Loss& one) {
      if (one.begun && !one.done && row.version > one.version) one.done = row.at;
    });
  }

  std::vector<Loss> losses_;
  std::set<std::uint32_t> told_, back_, known_, through_;
  std::int64_t version_ = 0, participants_ = 0;
};

class Snapshots final : public Check {
 public:
  explicit Snapshots(const Evidence& evidence) : Check(evidence, "snapshots") {}

  void on(const Row& row) override {
    const std::uint64_t size = row.bytes - std::min(row.bytes, facts_.header);
    const Key key{row.shard, row.version};
    const auto is_storage = [this](std::uint32_t node) { return name(node) == "storage"; };
    // It loses snapshots that are not written yet.
    if (row.is_crash() && is_storage(row.peer)) received_.clear();
    if (row.is<Received>(MessageKind::state) && is_storage(row.node))
      received_[{row.peer, key}].push_back({row.at, static_cast<double>(size)});
    if (!row.is<Snapshot>() || !(facts_.disk > 0)) return;
    examined();
    std::vector<Arrival>& all = received_[{row.peer, key}];
    if (all.empty())
      return violated(row, "version {} of shard {} has not arrived, or was written before", row.version,
                      row.shard);
    const double least = std::max(all.front().at, last_) + all.front().bytes / facts_.disk;
    if (row.at < least - 1e-9)
      violated(row, "version {} of shard {} is written at {:.9g} s; the disk needs until {:.9g} s",
               row.version, row.shard, row.at, least);
    all.erase(all.begin());
    last_ = row.at;
  }

 private:
  using Key = std::pair<std::uint32_t, std::int64_t>;  // shard and version
  struct Arrival {
    double at, bytes;
  };
  std::map<std::pair<std::uint32_t, Key>, std::vector<Arrival>> received_;  // by sender
  double last_ = 0;
};

class Sizes final : public Check {
 public:
  explicit Sizes(const Evidence& evidence) : Check(evidence, "sizes") {}

  void on(const Row& row) override {
    if (!row.is<Sent>()) return;
    by_kind_[std::string(row.word())] += row.bytes;
    if (summary_.contains("groups")) return;  // each job has its own sizes
    const std::optional<std::uint64_t> size = size_of(row);
    if (!size) return;
    examined();
    const Sent& message = row.as<Sent>();
    if (*size != row.bytes)
      violated(row, "a {} of {} values, {} keys and {} names has {} bytes, not {}", row.word(), row.values,
               message.keys, message.ids, *size, row.bytes);
  }
  void at_end(std::int64_t) override {
    const Json& told = summary_.at("bytes_by_kind");
    std::uint64_t all = 0;
    for (const auto& [kind, bytes] : by_kind_) {
      all += bytes;
      examined();
      const Json said = told.value(kind, Json(0));
      if (said != bytes) violated("{}: {} bytes in the events, {} in the summary", kind, bytes, said.dump());
    }
    if (summary_.at("bytes_sent") != all)
      violated("all kinds have {} bytes, and {} were sent", all, summary_.at("bytes_sent").dump());
  }

 private:
  // The size of a message from its content; none if the content does not determine it.
  std::optional<std::uint64_t> size_of(const Row& row) const {
    constexpr std::uint64_t id = 12, weight = 8;
    using enum MessageKind;
    const Sent& message = row.as<Sent>();
    const std::uint64_t listed = message.keys > 0 ? facts_.bytes_per_listed_key : facts_.bytes_per_key;
    if (row.is<Sent>(weights, finished, push)) {
      const bool may_be_copy = facts_.sums && history_.watched() && message.kind != push;
      if (facts_.filtered || may_be_copy) return std::nullopt;
      return facts_.header + row.values * (facts_.bytes_per_value + listed);
    }
    if (row.is<Sent>(pull) && !(!facts_.caches_keys.empty() && message.keys > 0))
      return facts_.header + message.keys * facts_.bytes_per_listed_key;
    if (row.is<Sent>(chunk) && facts_.filtered) return std::nullopt;
    if (row.is<Sent>(chunk, activation, error)) return facts_.header + row.values * facts_.bytes_per_value;
    if (row.is<Sent>(group)) return facts_.header + message.ids * id + row.values * weight;
    if (row.is<Sent>(heartbeat)) return facts_.header + 16 + message.ids * std::uint64_t{16};
    if (row.is<Sent>(idle)) return facts_.header + 16;
    const bool tells_decisions = facts_.shares_out && !facts_.in_step();
    const bool of_both_kinds = (tells_decisions && facts_.slow_factor > 0) || facts_.rule.own_logic;
    if (row.is<Sent>(report) && of_both_kinds) return std::nullopt;
    if (row.is<Sent>(report)) return facts_.header + (tells_decisions ? 16 : 8);
    const bool is_bare = row.is<Sent>(join, ack, fetch, replicated, restore, ready);
    return is_bare ? std::optional(facts_.header) : std::nullopt;
  }

  std::map<std::string, std::uint64_t> by_kind_;
};

}  // namespace

void add_failure_checks(const Evidence& evidence, Checks& checks) {
  add_checks<Recoveries, Regroupings, Snapshots, Sizes>(evidence, checks);
}

}  // namespace psim::analysis
