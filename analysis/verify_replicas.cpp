// What survives a change of owner, and who may still speak for a shard after it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/verify_checks.hpp"
#include "model/mutant.hpp"

namespace psim::analysis {
namespace {

class Acknowledged final : public Check {
 public:
  explicit Acknowledged(const Facts& facts)
      : Check("acknowledged", "no push confirmed as safe is lost while a full copy is alive") {
    if (facts.copies == 0 || facts.window > 0) does_not_apply();
  }

  void on(const Row& row, const History& history) override {
    if (!report().applies) return;
    const Facts& facts = history.facts();
    if (row.what == What::acknowledgement) hears(row, facts);
    // One that comes late has had a successor before it began: nobody begins with what it has.
    if (row.what == What::promotion && history.shard(row.shard).owner().epoch == row.epoch) {
      Takeover& takeover = takeovers_[row.shard];
      takeover = {.node = row.node,
                  .covered = history.copy_was_there(),
                  .from_nothing = history.copy_was_there() ? takeover.from_nothing : row.epoch,
                  .workers = {}};
      for (std::uint32_t w = 0; w < facts.workers; ++w) takeover.workers.insert(w);
    }
    if (row.what == What::membership) count(row, history);
  }
  void at_end(const History&, const Json&, std::int64_t) override {
    if (excused_ > 0)
      set_note(fmt::format("{} safe pushes were lost when no full copy was left: allowed", excused_));
  }

 private:
  struct Takeover {
    std::uint32_t node = 0;
    bool covered = false;                  // somebody alive had a full copy
    std::int64_t from_nothing = 0;         // the last epoch of whose beginning this was not so
    std::set<std::uint32_t> workers = {};  // of which the new owner has not told what it has
  };

  // A promise of an owner from before the last full copy was gone comes too late to be kept.
  void hears(const Row& row, const Facts& facts) {
    examined();
    std::int64_t& safe = safe_[{row.shard, facts.worker(row.node)}];
    if (row.epoch >= takeovers_[row.shard].from_nothing) safe = std::max(safe, row.safe_pushes);
    else excused_ += std::max<std::int64_t>(0, row.safe_pushes - safe);
  }

  // The new owner tells what it has of a worker.
  void count(const Row& row, const History& history) {
    const auto found = takeovers_.find(row.shard);
    const std::uint32_t w = history.facts().worker(row.peer);
    if (found == takeovers_.end() || found->second.node != row.node || found->second.workers.erase(w) == 0)
      return;
    const ShardHistory& shard = history.shard(row.shard);
    const Reign& owner = *shard.of_server.at(row.node);
    std::int64_t& safe = safe_[{row.shard, w}];
    const std::int64_t in_hand = history.facts().every_push ? row.arrived : 0;
    for (std::int64_t number = in_hand; number < safe; ++number) {
      if (owner.in_lineage(w, number) || has(shard.dropped[w], number) || has(shard.given_up[w], number))
        continue;
      if (found->second.covered)
        violated(row, fmt::format(
                          "{} takes over shard {} at version {} without push {} of worker {}, which was told "
                          "that its first {} are safe",
                          history.facts().name_of(row.node), row.shard, owner.from, number, w, safe));
      else excused_ += safe - number;
      safe = number;
    }
  }

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> safe_;  // by shard and worker
  std::map<std::uint32_t, Takeover> takeovers_;                           // by shard
  std::int64_t excused_ = 0;
};

class OneOwner final : public Check {
 public:
  explicit OneOwner(const Facts& facts)
      : Check("one-owner", "a shard has one owner in each epoch, and a replaced owner makes no promises"),
        replicated_(facts.copies > 0 && facts.window == 0) {}

  void on(const Row& row, const History& history) override {
    if (row.what == What::acknowledgement && replicated_) return hears(row, history);
    if (row.what != What::promotion) return;
    examined();
    const std::string name = history.facts().name_of(row.node);
    if (history.epoch_taken())
      violated(row,
               fmt::format("{} owns shard {} in epoch {}, which had an owner", name, row.shard, row.epoch));
    std::int64_t& last = last_[{row.shard, row.node}];
    if (row.epoch <= last)
      violated(row,
               fmt::format("{} owns shard {} in epoch {} after epoch {}", name, row.shard, row.epoch, last));
    last = std::max(last, row.epoch);
  }

 private:
  // What a server applied after another one took its place must not be promised to anybody.
  void hears(const Row& row, const History& history) {
    const std::uint32_t w = history.facts().worker(row.node);
    const std::int64_t told = std::exchange(told_[{row.shard, w}], row.safe_pushes);
    const auto found = history.shards().find(row.shard);
    if (found == history.shards().end() || !found->second.of_server.contains(row.peer)) return;
    examined();
    const Reign& owner = *found->second.of_server.at(row.peer);
    const auto next = found->second.reigns.upper_bound(owner.epoch);
    if (next == found->second.reigns.end() || owner.holders.size() < 2) return;
    const Reign& last = found->second.owner();
    for (auto one = owner.applications.rbegin(); one != owner.applications.rend(); ++one) {
      if (one->event < next->second.promoted) return;
      if (one->worker != w || one->number < told || one->number >= row.safe_pushes ||
          last.in_lineage(w, one->number))
        continue;
      violated(row, fmt::format(
                        "{} hears from {} that its push {} to shard {} is safe, applied after {} had taken "
                        "over",
                        history.facts().name_of(row.node), history.facts().name_of(row.peer), one->number,
                        row.shard, history.facts().name_of(next->second.node)));
    }
  }

  bool replicated_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> last_;  // epoch, by shard and server
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> told_;  // by shard and worker
};

class Replicas final : public Check {
 public:
  explicit Replicas(const Facts& facts)
      : Check("replicas", "a new owner starts with the weights and optimizer state of its history") {
    if (facts.copies == 0) does_not_apply();
  }
  void on(const Row& row, const History& history) override {
    if (!report().applies || row.what != What::promotion || row.weights_hash == 0) return;
    const std::optional<Reign::Hashes> there =
        history.shard(row.shard).of_server.at(row.node)->hashes_at(row.version);
    if (!there || there->weights == 0) return;
    examined();
    const bool same_weights = there->weights == row.weights_hash, same_state = there->state == row.state_hash;
    if ((same_weights && same_state) || mutant("replicas-always-agree")) return;
    violated(row, fmt::format("{} takes over shard {} at version {} with {} than its owner had then",
                              history.facts().name_of(row.node), row.shard, row.version,
                              same_weights ? "another optimizer state" : "other weights"));
  }
};

}  // namespace

void add_replica_checks(const Facts& facts, Checks& checks) {
  checks.push_back(std::make_unique<Acknowledged>(facts));
  checks.push_back(std::make_unique<OneOwner>(facts));
  checks.push_back(std::make_unique<Replicas>(facts));
}

}  // namespace psim::analysis
