// Checks the staleness of weights and pushes, and the dates when updates and clocks end.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/decisions.hpp"
#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

double rounding(double at) { return 1e-9 * (1 + at); }

class Staleness final : public Check {
 public:
  explicit Staleness(const Evidence& evidence)
      : Check(evidence, "staleness",
              "the counts of pushes by staleness match the events, and no push that is too stale counts in "
              "full") {}

  void on(const Row& row) override {
    history_.follow_versions(row, versions_);
    if (row.is("applied")) {
      examined();
      ++applied_[row.staleness];
      if (judges(row) && row.staleness > *facts_.limit)
        violated(row, "{} applies {}, which is {} updates old; the limit is {}", name(row.node), push_of(row),
                 row.staleness, *facts_.limit);
    } else if (row.is("late")) {
      examined();
      const std::int64_t age = std::max<std::int64_t>(0, versions_[row.shard] - row.version);
      ++dropped_[age];
      if (judges(row) && age <= *facts_.limit)
        violated(row, "{} drops {}, which is only {} updates old; the limit is {}", name(row.node),
                 push_of(row), age, *facts_.limit);
    }
  }

  void at_end(std::int64_t) override {
    const Json& told = summary_.at("staleness");
    if (!told.contains("histogram")) return;
    compare("applied", applied_, told.at("histogram"));
    compare("dropped", dropped_, told.at("dropped"));
  }

 private:
  using Counts = std::map<std::int64_t, std::int64_t>;
  // A new owner may have an older version.
  bool judges(const Row& row) const {
    return facts_.limit && facts_.drops_too_stale && !facts_.follows(row.shard) && !history_.any_set_back();
  }
  void compare(const char* what, const Counts& seen, const Json& told) {
    Json expected = Json::array();
    for (const auto& [staleness, pushes] : seen) expected.push_back({staleness, pushes});
    if (expected != told)
      violated("the {} pushes by staleness are {} in the events, {} in the summary", what, expected.dump(),
               told.dump());
  }

  std::map<std::uint32_t, std::int64_t> versions_;  // by shard
  Counts applied_, dropped_;
};

class Closings final : public Check {
 public:
  explicit Closings(const Evidence& evidence)
      : Check(evidence, "closings",
              "an update that lacks pushes is made when its window or its deadline is over, and none later") {
    if (!facts_.closing_window && !facts_.closing_deadline) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is("promotion")) begins(row);
    // After a warm-up a worker pushes before it pulls, or never pulls.
    const bool asks = row.is("received", "pull") || (row.is("received", "push") && row.push == 0);
    if (asks && facts_.is_server(row.node) && facts_.is_worker(row.peer))
      open_.try_emplace({row.shard, row.node}, Open{.since = row.at});
    if (row.is("received", "push")) arrives(row);
    // Without failures a server does not wait for a start. A server that asked twice gets a second start and
    // continues.
    if (row.is("received", "start") && history_.watched()) started_.try_emplace(row.node, row.at);
    if (row.is("applied")) {
      Open& update = open_[{row.shard, row.node}];
      // A push after a warm-up may arrive before its server may begin.
      const double here = std::max(
          {arrivals_[{row.shard, row.node, row.peer}][row.push], update.promoted, started_[row.node]});
      update.first = update.pushes++ == 0 ? here : std::min(update.first, here);
    }
    if (row.is("model_update") && facts_.is_server(row.node)) closes(row);
  }

 private:
  struct Open {
    // Dates: the last update (or the first request), and the first push.
    double since = 0, first = 0, promoted = 0;
    std::int64_t pushes = 0;
  };

  void begins(const Row& row) { open_[{row.shard, row.node}] = {.since = row.at, .promoted = row.at}; }

  // A push that overtakes the push before it counts from the arrival of that push. A repeated push that came
  // with the shard delays no other push.
  void arrives(const Row& row) {
    auto& of_worker = arrivals_[{row.shard, row.node, row.peer}];
    if (!of_worker.try_emplace(row.push, row.at).second || row.push < pushes_here(row)) return;
    for (auto later = of_worker.upper_bound(row.push); later != of_worker.end(); ++later)
      later->second = std::max(later->second, row.at);
  }

  std::int64_t pushes_here(const Row& row) const {
    const Ownership* owner = history_.find(row.shard, row.node);
    return owner == nullptr ? 0 : owner->workers[worker(row.peer)].here();
  }

  void closes(const Row& row) {
    Open& update = open_[{row.shard, row.node}];
    if (!facts_.follows(row.shard) && update.pushes > 0) {
      examined();
      const double due = due_of(update);
      const std::vector<Count>& counts = history_.find(row.shard, row.node)->workers;
      const auto members = std::ranges::count_if(counts, &Count::member);
      const bool lacks = update.pushes < std::min<std::int64_t>(facts_.group, members);
      if (lacks && fresh_ && row.at < due - rounding(due))
        violated(row, "{} makes version {} of shard {} of {} pushes at {:.9g} s, before {:.9g} s",
                 name(row.node), row.version, row.shard, update.pushes, row.at, due);
      const bool is_busy = facts_.servers_work || history_.watched();
      if (!is_busy && row.at > due + rounding(due))
        violated(row, "{} makes version {} of shard {} at {:.9g} s, after {:.9g} s", name(row.node),
                 row.version, row.shard, row.at, due);
    }
    update = {.since = row.at, .promoted = update.promoted};
  }

  double due_of(const Open& update) const {
    double due = HUGE_VAL;
    if (facts_.closing_window) due = update.first + *facts_.closing_window;
    if (facts_.closing_deadline)
      due = std::min(due, std::max(update.first, update.since + *facts_.closing_deadline));
    return due;
  }

  const bool fresh_ = facts_.model == "bsp" || facts_.model == "k-sync" || facts_.model == "k-batch-sync";
  std::map<std::pair<std::uint32_t, std::uint32_t>, Open> open_;  // by shard and server
  std::map<std::uint32_t, double> started_;                       // by server: its first start
  // By shard, server and worker: the date from which each push counts.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::map<std::int64_t, double>> arrivals_;
};

// Checks the copies that a worker keeps. The check `reads` examines answers. A worker takes only the first
// answer to its last pull, in the epoch in which it last sent that pull. A replaced owner may answer an old
// pull much later.
class Copies final : public Check {
 public:
  explicit Copies(const Evidence& evidence)
      : Check(evidence, "copies",
              "a worker computes clock t on copies that have all others' pushes up to clock t-1-s") {
    if (!facts_.cache || !facts_.bound_at(0) || facts_.model == "bsp") does_not_apply();
  }

  void on(const Row& row) override {
    decisions_.on(row);
    if (row.is("sent", "pull") && facts_.is_worker(row.node)) {
      Request& asked = copies_[row.node][row.shard].asked;
      asked = std::max(asked, Request{row.pull, row.epoch});
    } else if (row.is("sent", "weights") && facts_.is_worker(row.peer)) {
      sent_[row.number] = slowest(row);
    } else if (row.is("received", "weights") && facts_.is_worker(row.node)) {
      receives(row);
    } else if (row.is("sent", "join")) {
      copies_.erase(row.node);
    } else if (row.is_step() && row.is("ended") && !history_.any_set_back()) {
      computed(row);
    }
  }

 private:
  // The clock before which the owner has the pushes of every worker that counts for this answer.
  std::int64_t slowest(const Row& row) const {
    std::optional<std::int64_t> least;
    const Ownership* owner = history_.find(row.shard, row.node);
    if (owner == nullptr) return 0;
    const std::int64_t decided = decisions_.earliest(row);
    for (const Count& count : owner->workers) {
      if (count.is_awaited_since(decided)) least = std::min(least.value_or(count.clock()), count.clock());
    }
    return least.value_or(row.clock);
  }
  void receives(const Row& row) {
    const auto answer = sent_.extract(row.sent);
    KnownCopy& copy = copies_[row.node][row.shard];
    const Request answered{row.pull, row.epoch};
    if (!answer || answered != copy.asked || answered == copy.taken) return;
    copy.taken = answered;
    copy.clock = answer.mapped();
  }
  void computed(const Row& row) {
    for (const auto& [shard, copy] : copies_[row.node]) {
      if (!copy.clock) continue;
      examined();
      const std::int64_t needed = row.clock - facts_.bound_at(row.clock, shard).value_or(row.clock);
      if (*copy.clock < needed)
        violated(row, "{} computes clock {} on a copy of shard {} with pushes up to clock {}, not {}",
                 name(row.node), row.clock, shard, *copy.clock, needed);
    }
  }

  // Number of a pull, and the epoch in which it is sent.
  using Request = std::pair<std::int64_t, std::int64_t>;
  struct KnownCopy {
    Request asked = {-1, -1}, taken = {-1, -1};  // the last pull; the pull whose answer the copy is
    std::optional<std::int64_t> clock = {};      // none: no copy
  };

  Decisions decisions_;
  std::map<std::int64_t, std::int64_t> sent_;                           // clocks, by answer on its way
  std::map<std::uint32_t, std::map<std::uint32_t, KnownCopy>> copies_;  // by worker and shard
};

class LocalTime final : public Check {
 public:
  explicit LocalTime(const Evidence& evidence)
      : Check(evidence, "local-time", "a clock has as many local steps as fit in its time, at least one") {
    const auto changes = [](const Straggler& one) { return one.from > 0 || one.until || one.every; };
    const bool is_steady = facts_.fault_factors.empty() && std::ranges::none_of(facts_.stragglers, changes);
    if (!facts_.local_time || facts_.local_batch == 0 || !is_steady) does_not_apply();
  }

  void on(const Row& row) override {
    if (!row.is_step()) return;
    if (row.is("begun")) begun_[row.node] = row.at;
    if (!row.is("ended")) return;
    const bool is_first = ended_[row.node]++ == 0;
    if (is_first && facts_.warms_up) return;
    examined();
    constexpr double most = 1e6;  // steps of a clock
    const double time = *facts_.local_time, took = row.at - begun_[row.node];
    const double steps = static_cast<double>(row.samples) / static_cast<double>(facts_.local_batch);
    const double slack = 1e-6 * time + rounding(row.at);
    if (steps != std::floor(steps) || steps < 1)
      violated(row, "{} computes {} samples, where a local step has {}", name(row.node), row.samples,
               facts_.local_batch);
    else if (steps > 1 && took > time + slack)
      violated(row, "{} takes {:.9g} s for {} local steps; a clock has {:.9g} s", name(row.node), took, steps,
               time);
    else if (steps < most && took > 0 && took / steps * (steps + 1) < time - slack)
      violated(row, "{} takes {} local steps in {:.9g} s; one more would fit in {:.9g} s", name(row.node),
               steps, took, time);
  }

 private:
  std::map<std::uint32_t, double> begun_;
  std::map<std::uint32_t, std::int64_t> ended_;
};

}  // namespace

void add_staleness_checks(const Evidence& evidence, Checks& checks) {
  add_checks<Staleness, Closings, Copies, LocalTime>(evidence, checks);
}

}  // namespace psim::analysis
