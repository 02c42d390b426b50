// What updates are made of.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/verify_checks.hpp"
#include "model/mutant.hpp"

namespace psim::analysis {
namespace {

class Versions final : public Check {
 public:
  Versions() : Check("versions", "each owner's updates of a shard count up by one from its first version") {}
  void on(const Row& row, const History& history) override {
    const Facts& facts = history.facts();
    if (row.what == What::promotion) return begins(row, history);
    if (row.what != What::update || !facts.is_server(row.node)) return;
    examined();
    if (row.version != history.last_version() + 1)
      violated(row, fmt::format("{} goes from version {} of shard {} to {}", facts.name_of(row.node),
                                history.last_version(), row.shard, row.version));
  }

 private:
  void begins(const Row& row, const History& history) {
    examined();
    const Reign& owner = history.shard(row.shard).owner();
    if (owner.promoted != row.number || row.version == 0) return;
    if (owner.before == nullptr || owner.before->version < row.version)
      violated(row, fmt::format("{} takes over shard {} at version {}, which nobody before it had",
                                history.facts().name_of(row.node), row.shard, row.version));
  }
};

// Under k-sync the first shard decides for all: the others take the pushes that were fresh there.
class Updates final : public Check {
 public:
  Updates(const std::string& model, bool repeats, bool steals)
      : Check(
            "updates",
            "an update has the number of pushes that the model requires, all fresh if only fresh ones count"),
        model_(model),
        fresh_(model == "bsp" || model == "k-sync" || model == "k-batch-sync"),
        single_(model == "ssp" || model == "asp" || model == "dssp"),
        once_each_((model == "bsp" || model == "k-sync") && !repeats && !steals),
        by_samples_(steals) {}

  void on(const Row& row, const History& history) override {
    const Facts& facts = history.facts();
    if (row.what == What::applied) {
      pushes_[{row.shard, row.node}].push_back(row.peer);
      if ((model_ == "k-sync" ? row.shard == 0 : fresh_) && row.staleness != 0)
        violated(row, fmt::format("{} applies push {} of {} to shard {}, which is {} updates old",
                                  facts.name_of(row.node), row.push, facts.name_of(row.peer), row.shard,
                                  row.staleness));
      return;
    }
    if (row.what != What::update || !facts.is_server(row.node)) return;
    examined();
    std::vector<std::uint32_t> pushes = std::exchange(pushes_[{row.shard, row.node}], {});
    const std::vector<Count>& counts = history.shard(row.shard).of_server.at(row.node)->workers;
    const auto members = std::ranges::count_if(counts, &Count::member);
    const std::int64_t whole =
        members < std::ssize(counts) ? std::min<std::int64_t>(facts.group, members) : facts.group;
    const std::int64_t size = std::ssize(pushes);
    // A worker that the first shard took may have gone since, and nobody else has a push for its place.
    const bool follows = model_ == "k-sync" && row.shard != 0;
    const std::int64_t gone = std::ssize(counts) - members;
    const std::int64_t needed = follows ? std::max<std::int64_t>(1, whole - gone) : whole;
    const std::int64_t least = fresh_ && !by_samples_ ? needed : 1;
    const std::int64_t most = single_ ? 1 : fresh_ && !by_samples_ ? facts.group : size;
    if ((size < least && !mutant("small-updates-hold")) || size > most)
      violated(row, fmt::format("version {} of shard {} at {} is made of {} pushes, not {}", row.version,
                                row.shard, facts.name_of(row.node), size, least));
    std::ranges::sort(pushes);
    if (once_each_ && std::ranges::adjacent_find(pushes) != pushes.end())
      violated(row, fmt::format("version {} of shard {} at {} has two pushes of one worker", row.version,
                                row.shard, facts.name_of(row.node)));
  }

 private:
  std::string model_;
  bool fresh_, single_, once_each_, by_samples_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>>
      pushes_;  // by shard and server
};

class ExactlyOnce final : public Check {
 public:
  explicit ExactlyOnce(bool allowed)
      : Check("exactly-once", "no push is applied twice in one history of a shard"), allowed_(allowed) {}
  void on(const Row& row, const History& history) override {
    if (row.what != What::applied) return;
    examined();
    if (!history.repeated()) return;
    if (allowed_) {
      ++repeated_;
      return;
    }
    violated(row, fmt::format("{} applies push {} of {} to shard {} again", history.facts().name_of(row.node),
                              row.push, history.facts().name_of(row.peer), row.shard));
  }
  void at_end(const History&, const Json&, std::int64_t) override {
    if (repeated_ > 0)
      set_note(fmt::format("{} pushes were applied again, as at-least-once allows", repeated_));
  }

 private:
  bool allowed_;
  std::int64_t repeated_ = 0;
};

// A server that takes a push for one that it has, and has it not, throws away what its worker computed.
class Duplicates final : public Check {
 public:
  Duplicates() : Check("duplicates", "a push that is refused as a duplicate was accepted before") {}
  void on(const Row& row, const History& history) override {
    if (!row.is_outcome()) return;
    const Id id{row.shard, history.facts().worker(row.peer), row.push};
    if (row.what == What::applied || row.what == What::late || row.what == What::unused) {
      taken_.insert(id);
      open_.erase(id);
    } else if (row.what == What::duplicate) {
      // One that waits for its shard, which is on its way to this server, may be refused when that has come.
      const auto shard = history.shards().find(row.shard);
      if (shard == history.shards().end()) return;
      const Reign& owner = shard->second.owner();
      if (owner.node != row.node || owner.over) return;
      examined();
      if (!taken_.contains(id)) open_.try_emplace(id, row);  // perhaps it waits for its group
    }
  }
  void at_end(const History& history, const Json&, std::int64_t) override {
    for (const auto& [id, row] : open_)
      violated(row, fmt::format("{} refuses push {} of {} to shard {} as a repeated one, which it never took",
                                history.facts().name_of(row.node), row.push,
                                history.facts().name_of(row.peer), row.shard));
  }

 private:
  using Id = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // shard, worker, number
  std::set<Id> taken_;
  std::map<Id, Row> open_;
};

}  // namespace

void add_update_checks(const Facts& facts, Checks& checks) {
  checks.push_back(std::make_unique<Versions>());
  checks.push_back(std::make_unique<Updates>(facts.model, facts.at_least_once, facts.steals));
  checks.push_back(std::make_unique<ExactlyOnce>(facts.at_least_once));
  checks.push_back(std::make_unique<Duplicates>());
}

}  // namespace psim::analysis
