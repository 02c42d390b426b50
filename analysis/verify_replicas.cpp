// Checks the data that survive a change of owner, and which servers may still act for a shard.

#include <algorithm>
#include <map>
#include <set>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

class Acknowledged final : public Check {
 public:
  explicit Acknowledged(const Evidence& evidence)
      : Check(evidence, "acknowledged", "no push confirmed as safe is lost while a full copy is alive") {
    if (facts_.copies == 0 || facts_.window > 0) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is("acknowledgement")) hears(row);
    // A late owner already had a successor before it began, so no later owner continues its state.
    if (row.is("promotion")) takes_promises(row.shard);
    if (row.is("promotion") && history_.owner(row.shard)->epoch == row.epoch) {
      Takeover& takeover = takeovers_[row.shard];
      takeover = {.node = row.node,
                  .covered = history_.copy_was_there(),
                  .from_nothing = history_.copy_was_there() ? takeover.from_nothing : row.epoch,
                  .workers = {}};
      for (std::uint32_t w = 0; w < facts_.workers; ++w) takeover.workers.insert(w);
    }
    if (row.is("membership")) count(row);
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
    std::int64_t& safe = safe_[{row.shard, worker(row.node)}];
    std::int64_t& told = told_[{row.shard, worker(row.node)}][row.epoch];
    told = std::max(told, row.safe_pushes);
    if (row.epoch >= takeovers_[row.shard].from_nothing) safe = std::max(safe, row.safe_pushes);
    else excused_ += std::max<std::int64_t>(0, row.safe_pushes - safe);
  }

  // The new owner reports its counts for a worker.
  void count(const Row& row) {
    const auto found = takeovers_.find(row.shard);
    const std::uint32_t w = worker(row.peer);
    if (found == takeovers_.end() || found->second.node != row.node || found->second.workers.erase(w) == 0)
      return;
    const Ownership& owner = *history_.find(row.shard, row.node);
    std::int64_t& safe = safe_[{row.shard, w}];
    const std::int64_t in_hand = facts_.every_push ? row.arrived : 0;
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
  explicit OneOwner(const Evidence& evidence)
      : Check(evidence, "one-owner",
              "a shard has one owner in each epoch, and a replaced owner makes no promises") {}

  void on(const Row& row) override {
    if (row.is("acknowledgement") && facts_.copies > 0 && facts_.window == 0) return hears(row);
    if (!row.is("promotion")) return;
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
    const std::int64_t told = std::exchange(told_[{row.shard, w}], row.safe_pushes);
    const Ownership* owner = history_.find(row.shard, row.peer);
    if (owner == nullptr) return;
    examined();
    const ShardHistory& shard = history_.shard(row.shard);
    const auto next = shard.ownerships.upper_bound(owner->epoch);
    if (next == shard.ownerships.end() || owner->holders.size() < 2) return;
    for (auto one = owner->applications.rbegin(); one != owner->applications.rend(); ++one) {
      if (one->event < next->second.promoted) return;
      if (one->worker != w || one->number < told || one->number >= row.safe_pushes ||
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
  explicit Replicas(const Evidence& evidence)
      : Check(evidence, "replicas",
              "a new owner starts with the weights and optimizer state of its history") {
    if (facts_.copies == 0) does_not_apply();
  }
  void on(const Row& row) override {
    if (!row.is("promotion") || row.weights_hash == 0) return;
    const std::optional<Ownership::Hashes> there = history_.find(row.shard, row.node)->hashes_at(row.version);
    if (!there || there->weights == 0) return;
    examined();
    const bool same_weights = there->weights == row.weights_hash, same_state = there->state == row.state_hash;
    if (same_weights && same_state) return;
    violated(row, "{} takes over shard {} at version {} with {} than its owner had then", name(row.node),
             row.shard, row.version, same_weights ? "another optimizer state" : "other weights");
  }
};

}  // namespace

void add_replica_checks(const Evidence& evidence, Checks& checks) {
  add_checks<Acknowledged, OneOwner, Replicas>(evidence, checks);
}

}  // namespace psim::analysis
