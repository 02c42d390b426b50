// Checks the pushes in each update.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/verify_checks.hpp"
#include "model/formula.hpp"

namespace psim::analysis {
namespace {

// The scenario's own expression for when to update, compared with the state of the owner of a shard. For the
// slowest clock the events give only bounds.
class OwnRule {
 public:
  explicit OwnRule(const Facts& facts)
      : facts_(facts),
        formula_(facts.update_rule,
                 {"pushes", "members", "version", "min_clock", "workers", "k", "staleness"}) {
    const Formula start(facts.start_rule, {"clock", "min_clock", "version", "computed_on", "pushed",
                                           "applied", "workers", "k", "staleness"});
    waits_for_own_ = (start.uses("pushed") || start.uses("applied")) && !start.uses("version") &&
                     !start.uses("computed_on");
  }

  // The first shard's members and clocks may be from another date than those of a shard that follows it. A
  // window or a deadline makes smaller updates.
  bool says(std::uint32_t shard) const {
    return !facts_.follows(shard) && !facts_.closing_window && !facts_.closing_deadline;
  }
  void on_pull(const Row& row) {
    std::int64_t& clock = clocks_[{row.shard, row.peer}];
    clock = std::max(clock, row.clock);
  }
  // `pushes`: nodes of workers; `version`: of the weights.
  bool holds(const std::vector<std::uint32_t>& pushes, const std::vector<Count>& counts,
             std::int64_t version) const {
    const auto members = std::ranges::count_if(counts, &Count::member);
    const auto clock = [](const Count& count) { return count.clock(); };
    const std::int64_t least = formula_.uses("min_clock") ? std::ranges::min(counts, {}, clock).clock() : 0,
                       most = formula_.uses("min_clock") ? std::ranges::max(counts, {}, clock).clock() : 0,
                       before = least - std::ssize(pushes);
    const auto number = [](auto value) { return static_cast<double>(value); };
    for (std::int64_t slowest = std::max<std::int64_t>(0, before); slowest <= most; ++slowest) {
      if (formula_.holds({number(std::ssize(pushes)), number(members), number(version), number(slowest),
                          number(facts_.workers), number(facts_.group), number(facts_.staleness)}))
        return true;
    }
    return false;
  }
  // Whether no worker will push to the shard again: then even a few last pushes make an update.
  bool is_last(std::uint32_t shard, const std::vector<std::uint32_t>& pushes,
               const std::vector<Count>& counts) const {
    std::int64_t here = 0, gone = 0, waiting = 0;
    for (std::uint32_t w = 0; w < counts.size(); ++w) {
      const auto known = clocks_.find({shard, facts_.servers + 1 + w});
      if (known != clocks_.end() && facts_.steps > 0 && known->second >= facts_.steps) continue;
      ++(counts[w].member ? here : gone);
      waiting += std::ranges::count(pushes, facts_.servers + 1 + w);
    }
    return here == 0 || (waits_for_own_ && here + gone <= waiting);
  }
  const std::string& text() const { return formula_.text(); }

 private:
  const Facts& facts_;
  Formula formula_;
  bool waits_for_own_ = false;
  // Clocks that a worker asks to start.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> clocks_;
};

class Versions final : public Check {
 public:
  explicit Versions(const Evidence& evidence)
      : Check(evidence, "versions",
              "each owner's updates of a shard count up by one from its first version") {}
  void on(const Row& row) override {
    if (row.is("promotion")) return begins(row);
    if (!row.is("model_update") || !facts_.is_server(row.node)) return;
    examined();
    if (row.version != history_.last_version() + 1)
      violated(row, "{} goes from version {} of shard {} to {}", name(row.node), history_.last_version(),
               row.shard, row.version);
  }

 private:
  void begins(const Row& row) {
    examined();
    const Ownership& owner = history_.shard(row.shard).owner();
    if (owner.promoted != row.number || row.version == 0) return;
    if (owner.before == nullptr || owner.before->version < row.version)
      violated(row, "{} takes over shard {} at version {}, which nobody before it had", name(row.node),
               row.shard, row.version);
  }
};

// Under k-sync the first shard decides for all: the others take the pushes that were fresh there.
class Updates final : public Check {
 public:
  explicit Updates(const Evidence& evidence)
      : Check(evidence, "updates",
              "an update has the number of pushes that the model requires, all fresh if only fresh ones "
              "count") {
    if (model_ == "custom") own_.emplace(facts_);
  }

  void on(const Row& row) override {
    if (own_ && row.is("received", "pull")) own_->on_pull(row);
    if (row.is("applied")) {
      pushes_[{row.shard, row.node}].push_back(row.peer);
      if (fresh_ && !facts_.follows(row.shard) && row.staleness != 0)
        violated(row, "{} applies {}, which is {} updates old", name(row.node), push_of(row), row.staleness);
      return;
    }
    if (!row.is("model_update") || !facts_.is_server(row.node)) return;
    examined();
    std::vector<std::uint32_t> pushes = std::exchange(pushes_[{row.shard, row.node}], {});
    const std::vector<Count>& counts = history_.find(row.shard, row.node)->workers;
    const auto members = std::ranges::count_if(counts, &Count::member);
    const std::int64_t whole =
        members < std::ssize(counts) ? std::min<std::int64_t>(facts_.group, members) : facts_.group;
    const std::int64_t size = std::ssize(pushes);
    // A worker that the first shard counted may be gone, and no other worker has a push to replace it.
    const bool follows = facts_.follows(row.shard);
    const std::int64_t gone = std::ssize(counts) - members;
    const std::int64_t needed = follows ? std::max<std::int64_t>(1, whole - gone) : whole;
    // The check `closings` examines updates that are made when their time is over.
    const bool is_counted = fresh_ && !facts_.closing_window && !facts_.closing_deadline;
    const std::int64_t least = is_counted ? needed : changes_without_ ? 0 : 1;
    const std::int64_t most = single_ && !follows ? 1 : fresh_ ? facts_.group : size;
    if (size < least || size > most)
      violated(row, "version {} of shard {} at {} is made of {} pushes, not {}", row.version, row.shard,
               name(row.node), size, least);
    std::ranges::sort(pushes);
    if (once_each_ && std::ranges::adjacent_find(pushes) != pushes.end())
      violated(row, "version {} of shard {} at {} has two pushes of one worker", row.version, row.shard,
               name(row.node));
    if (own_ && own_->says(row.shard) && !own_->holds(pushes, counts, row.version - 1) &&
        !own_->is_last(row.shard, pushes, counts))
      violated(row, "version {} of shard {} at {} is made of {} pushes, for which `{}` is false", row.version,
               row.shard, name(row.node), size, own_->text());
  }

 private:
  std::optional<OwnRule> own_;  // for a consistency model of the scenario
  const std::string& model_ = facts_.model;
  const bool fresh_ = model_ == "bsp" || model_ == "k-sync" || model_ == "k-batch-sync";
  const bool single_ = model_ == "ssp" || model_ == "asp" || model_ == "dssp";
  const bool once_each_ = (model_ == "bsp" || model_ == "k-sync") && !facts_.at_least_once;
  // A task may change weights without a push.
  const bool changes_without_ = std::ranges::any_of(
      facts_.tasks, [](const TaskFact& task) { return task.does == "scale" || task.does == "clip"; });
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>>
      pushes_;  // by shard and server
};

class ExactlyOnce final : public Check {
 public:
  explicit ExactlyOnce(const Evidence& evidence)
      : Check(evidence, "exactly-once", "no push is applied twice in one history of a shard") {}
  void on(const Row& row) override {
    if (!row.is("applied")) return;
    examined();
    if (!history_.repeated()) return;
    if (facts_.at_least_once) ++repeated_;
    else violated(row, "{} applies {} again", name(row.node), push_of(row));
  }
  void at_end(std::int64_t) override {
    if (repeated_ > 0) set_note("{} pushes were applied again, as at-least-once allows", repeated_);
  }

 private:
  std::int64_t repeated_ = 0;
};

// Checks the division of the samples of a clock. Under bsp each decision of the scheduler is for one clock,
// and no two workers share a sample. A new scheduler may decide about an old clock again.
class Shares final : public Check {
 public:
  explicit Shares(const Evidence& evidence)
      : Check(evidence, "shares",
              "every sample of a clock belongs to one worker, also where work is shared or stolen") {
    if (!facts_.steals && !(facts_.shares_out && facts_.in_step())) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is_crash() && row.peer == 0) decisions_.clear();
    if (row.is("sent", "assign")) return on_part(row);
    if (!facts_.steals) return;
    if (row.is("begun") && row.is_step()) given_[row.node].clear();
    if (row.is("sent", "piece")) given_[row.node][row.part] = row.samples;
    if (!row.is("ended") || !row.is_step() || summary_.contains("groups")) return;
    examined();
    const std::int64_t whole = facts_.batch_size * facts_.batches;
    std::int64_t given = 0;
    for (const auto& [piece, samples] : given_[row.node]) given += samples;
    if (row.samples > whole || (facts_.sends_at_once && row.samples + given != whole))
      violated(row, "{} computes {} samples and gives {} away, of {}", name(row.node), row.samples, given,
               whole);
  }

 private:
  struct SampleRange {
    std::int64_t begin, end;
  };
  void on_part(const Row& row) {
    if (!facts_.in_step()) return;
    examined();
    const SampleRange part{row.samples_before, row.samples_before + row.samples};
    std::map<std::uint32_t, SampleRange>& decision = decisions_[row.clock];
    for (const auto& [worker, other] : decision) {
      const bool is_same = worker == row.peer && other.begin == part.begin && other.end == part.end;
      if (is_same || part.begin >= other.end || part.end <= other.begin) continue;
      violated(row, "{} gets samples {} to {} of clock {}, of which {} has some", name(row.peer), part.begin,
               part.end, row.clock, name(worker));
    }
    decision.insert_or_assign(row.peer, part);
    const std::int64_t whole = facts_.batch_size * facts_.workers;
    if (part.end > whole && !summary_.contains("groups"))
      violated(row, "{} gets samples up to {} of clock {}, which has {}", name(row.peer), part.end, row.clock,
               whole);
  }

  std::map<std::int64_t, std::map<std::uint32_t, SampleRange>> decisions_;  // by clock and worker
  // By worker and piece, within the current step.
  std::map<std::uint32_t, std::map<std::int64_t, std::int64_t>> given_;
};

// A server that wrongly treats a push as a duplicate would lose the work of its worker.
class Duplicates final : public Check {
 public:
  explicit Duplicates(const Evidence& evidence)
      : Check(evidence, "duplicates", "a push that is refused as a duplicate was accepted before") {}
  void on(const Row& row) override {
    if (!row.is_outcome()) return;
    const Id id{row.shard, row.peer, row.push};
    if (row.is("applied") || row.is("late") || row.is("unused")) {
      taken_.insert(id);
      open_.erase(id);
    } else if (row.is("duplicate")) {
      // A push may wait for its shard, which is on its way to this server; it may be refused once the shard
      // arrives.
      const Ownership* owner = history_.owner(row.shard);
      if (owner == nullptr || owner->node != row.node || owner->over) return;
      examined();
      if (!was_taken(id)) open_.try_emplace(id, row);  // it may wait for its group
    }
  }
  void at_end(std::int64_t) override {
    for (const auto& [id, row] : open_)
      violated(row, "{} refuses {} as a repeated one, which it never took", name(row.node), push_of(row));
  }

 private:
  using Id = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // shard, worker, number
  // Whether the shard took it, or a shard that this one was cut from.
  bool was_taken(const Id& id) const {
    if (taken_.contains(id)) return true;
    const std::optional<std::uint32_t> whole = history_.cut_from(std::get<0>(id));
    return whole && was_taken({*whole, std::get<1>(id), std::get<2>(id)});
  }

  std::set<Id> taken_;
  std::map<Id, Row> open_;
};

}  // namespace

void add_update_checks(const Evidence& evidence, Checks& checks) {
  add_checks<Versions, Updates, ExactlyOnce, Duplicates, Shares>(evidence, checks);
}

}  // namespace psim::analysis
