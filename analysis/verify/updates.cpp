#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/decisions.hpp"
#include "analysis/verify/checks.hpp"
#include "model/base/formula.hpp"

namespace psim::analysis {

// Checks the pushes in each update.

// Checks the staleness of weights and pushes, and the dates when updates and clocks end.

namespace {

double rounding(double at) { return 1e-9 * (1 + at); }

class Staleness final : public Check {
 public:
  explicit Staleness(const Evidence& evidence) : Check(evidence, "staleness") {}

  void on(const Row& row) override {
    history_.follow_versions(row, versions_);
    if (row.is(Outcome::applied)) {
      examined();
      ++applied_[row.staleness];
      if (judges(row) && row.staleness > *facts_.limit)
        violated(row, "{} applies {}, which is {} updates old; the limit is {}", name(row.node), push_of(row),
                 row.staleness, *facts_.limit);
    } else if (row.is(Outcome::late)) {
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
    return facts_.limit && !facts_.follows(row.shard) && !history_.any_set_back();
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

std::int64_t members_of(const Row& row, const History& history) {
  return std::ranges::count_if(history.find(row.shard, row.node)->workers, &Count::member);
}

// The smallest number of workers that took part while an update was open: with a grace, workers may return
// after the update's condition has become true.
class FewestMembers {
 public:
  explicit FewestMembers(const History& history) : history_(history) {}

  void on(const Row& row) {
    if (!row.is<Recount>()) return;
    std::int64_t& fewest =
        fewest_.try_emplace({row.shard, row.node}, members_of(row, history_)).first->second;
    fewest = std::min(fewest, members_of(row, history_));
  }
  // For the update that this row makes.
  std::int64_t take(const Row& row) {
    const auto known = fewest_.extract({row.shard, row.node});
    const std::int64_t members = members_of(row, history_);
    return known ? std::min(known.mapped(), members) : members;
  }

 private:
  const History& history_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> fewest_;  // by shard and server
};

// The adaptive deadline of one shard, derived from the arrivals of the last updates.
class AdaptiveDue {
 public:
  // Dates of arrival, and the date from which they count.
  void add(std::vector<double> arrivals, double since, std::size_t most) {
    std::ranges::sort(arrivals);
    arrivals.resize(std::min(arrivals.size(), most));
    for (double& arrival : arrivals) arrival = std::max(0.0, arrival - since);
    updates_.push_back(std::move(arrivals));
    if (updates_.size() > last_updates) updates_.pop_front();
  }
  // Seconds after an update; infinite: no deadline yet.
  double seconds(double deviations) const {
    if (updates_.size() < free_updates) return HUGE_VAL;
    std::vector<double> all;
    for (const std::vector<double>& arrivals : updates_)
      all.insert(all.end(), arrivals.begin(), arrivals.end());
    const double middle = middle_of(all);
    for (double& arrival : all) arrival = std::abs(arrival - middle);
    return middle + deviations * middle_of(all);
  }

 private:
  static constexpr std::size_t last_updates = 10, free_updates = 3;
  static double middle_of(std::vector<double>& values) {
    std::ranges::sort(values);
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  }
  std::deque<std::vector<double>> updates_;
};

class Closings final : public Check {
 public:
  explicit Closings(const Evidence& evidence) : Check(evidence, "closings"), fewest_(history_) {
    if (!facts_.rule.closes_by_date()) does_not_apply();
  }

  void on(const Row& row) override {
    fewest_.on(row);
    if (row.is<Promotion>()) begins(row);
    // After a warm-up a worker pushes before it pulls, or never pulls.
    const bool asks =
        row.is<Received>(MessageKind::pull) || (row.is<Received>(MessageKind::push) && row.push == 0);
    if (asks && facts_.is_server(row.node) && facts_.is_worker(row.peer))
      open_.try_emplace({row.shard, row.node}, Open{.since = row.at});
    if (row.is<Received>(MessageKind::push)) arrives(row);
    // Without failures a server does not wait for a start. A server that asked twice gets a second start and
    // continues.
    if (row.is<Received>(MessageKind::start) && history_.watched()) started_.try_emplace(row.node, row.at);
    if (row.is(Outcome::applied)) {
      Open& update = open_[{row.shard, row.node}];
      // A push after a warm-up may arrive before its server may begin.
      const double here = std::max(
          {arrivals_[{row.shard, row.node, row.peer}][row.push], update.promoted, started_[row.node]});
      update.arrivals.push_back(here);
      update.workers.insert(row.peer);
    }
    if (row.is<ModelUpdate>() && facts_.is_server(row.node)) closes(row);
  }

 private:
  struct Open {
    double since = 0, promoted = 0;     // dates; since: of the last update, or of the first request
    std::vector<double> arrivals = {};  // of its pushes
    std::set<std::uint32_t> workers = {};
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
    AdaptiveDue& adaptive = adaptive_[{row.shard, row.node}];
    std::ranges::sort(update.arrivals);
    const std::int64_t pushes = std::ssize(update.arrivals),
                       needed = std::min(facts_.rule.group, fewest_.take(row));
    const ResolvedRule& rule = facts_.rule;
    const bool is_busy = facts_.servers_work || history_.watched();
    if (!facts_.follows(row.shard) && pushes > 0 && !(is_busy && rule.deadline_mad)) {
      examined();
      const double due = due_of(update, adaptive, needed);
      const bool all_count = rule.grace && !history_.watched();
      const bool lacks = all_count ? std::ssize(update.workers) < members_of(row, history_) : pushes < needed;
      if (lacks && fresh_ && row.at < due - rounding(due))
        violated(row, "{} makes version {} of shard {} of {} pushes at {:.9g} s, before {:.9g} s",
                 name(row.node), row.version, row.shard, pushes, row.at, due);
      if (!is_busy && knows_quorum_ && row.at > due + rounding(due))
        violated(row, "{} makes version {} of shard {} at {:.9g} s, after {:.9g} s", name(row.node),
                 row.version, row.shard, row.at, due);
    }
    if (rule.deadline_mad) adaptive.add(std::move(update.arrivals), update.since, facts_.workers);
    update = {.since = row.at, .promoted = update.promoted};
  }

  // The arrivals of the update rise.
  double due_of(const Open& update, const AdaptiveDue& adaptive, std::int64_t needed) const {
    double due = HUGE_VAL;
    const ResolvedRule& rule = facts_.rule;
    const double first = update.arrivals.front();
    if (rule.window) due = first + *rule.window;
    if (rule.deadline) due = std::min(due, std::max(first, update.since + *rule.deadline));
    if (rule.deadline_mad)
      due = std::min(due, std::max(first, update.since + adaptive.seconds(*rule.deadline_mad)));
    if (rule.grace && needed <= std::ssize(update.arrivals))
      due = std::min(due, update.arrivals[static_cast<std::size_t>(needed) - 1] + *rule.grace);
    return due;
  }

  const bool fresh_ = facts_.rule.drops_stale && !facts_.rule.own_logic;
  // Other expressions may become true at any number of pushes.
  const bool knows_quorum_ = !facts_.rule.grace || !facts_.rule.own_logic || !facts_.rule.varies;
  FewestMembers fewest_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Open> open_;             // by shard and server
  std::map<std::pair<std::uint32_t, std::uint32_t>, AdaptiveDue> adaptive_;  // the same
  std::map<std::uint32_t, double> started_;                                  // by server: its first start
  // By shard, server and worker: the date from which each push counts.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::map<std::int64_t, double>> arrivals_;
};

// Checks the copies that a worker keeps. The check `reads` examines answers. A worker takes only the first
// answer to its last pull, in the epoch in which it last sent that pull. A replaced owner may answer an old
// pull much later.
class Copies final : public Check {
 public:
  explicit Copies(const Evidence& evidence) : Check(evidence, "copies") {
    if (!facts_.cache || !facts_.bound_at(0) || facts_.rule.waits_for_all()) does_not_apply();
  }

  void on(const Row& row) override {
    decisions_.on(row);
    if (row.is<Sent>(MessageKind::pull) && facts_.is_worker(row.node)) {
      Request& asked = copies_[row.node][row.shard].asked;
      asked = std::max(asked, Request{row.pull, row.epoch});
    } else if (row.is<Sent>(MessageKind::weights) && facts_.is_worker(row.peer)) {
      sent_[row.number] = slowest(row);
    } else if (row.is<Received>(MessageKind::weights) && facts_.is_worker(row.node)) {
      receives(row);
    } else if (row.is<Sent>(MessageKind::join)) {
      copies_.erase(row.node);
    } else if (row.is_step(ComputePhase::ended) && !history_.any_set_back()) {
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

// No worker gets faster or slower during a step.
bool is_steady(const RunFacts& facts) {
  const auto changes = [](const Straggler& one) { return one.from > 0 || one.until || one.every; };
  return facts.fault_factors.empty() && std::ranges::none_of(facts.stragglers, changes);
}

// A computation of a step ends within the time after which a worker gives it up.
class GivenUp final : public Check {
 public:
  explicit GivenUp(const Evidence& evidence) : Check(evidence, "given-up") {
    if (!facts_.give_up || !is_steady(facts_)) does_not_apply();
  }

  void on(const Row& row) override {
    if (!row.is_step()) return;
    if (row.is(ComputePhase::begun)) begun_[row.node] = row.at;
    if (!row.is(ComputePhase::ended)) return;
    if (ended_[row.node]++ == 0 && facts_.warms_up) return;
    examined();
    const double took = row.at - begun_[row.node], limit = *facts_.give_up;
    if (took > limit * (1 + 1e-6) + rounding(row.at))
      violated(row, "{} computes for {:.9g} s; it gives a computation up after {:.9g} s", name(row.node),
               took, limit);
  }

 private:
  std::map<std::uint32_t, double> begun_;
  std::map<std::uint32_t, std::int64_t> ended_;
};

class LocalSteps final : public Check {
 public:
  explicit LocalSteps(const Evidence& evidence) : Check(evidence, "local-steps") {
    const bool has_time = facts_.local_time && is_steady(facts_);
    if (facts_.local_batch == 0 || (!has_time && facts_.dynamic_steps == 0)) does_not_apply();
  }

  void on(const Row& row) override {
    if (!row.is_step()) return;
    OfWorker& worker = workers_[row.node];
    if (row.is(ComputePhase::begun)) {
      worker.begun = row.at;
      worker.is_fastest = is_fastest(row.node);
    }
    if (!row.is(ComputePhase::ended)) return;
    const double took = row.at - worker.begun;
    const double steps = static_cast<double>(row.samples) / static_cast<double>(facts_.local_batch);
    worker.before = std::exchange(worker.last, took / steps);
    if (worker.ended++ == 0 && facts_.warms_up) return;
    examined();
    if (steps != std::floor(steps) || steps < 1)
      violated(row, "{} computes {} samples, where a local step has {}", name(row.node), row.samples,
               facts_.local_batch);
    else if (facts_.dynamic_steps > 0) check_speed(row, steps, worker);
    else check_time(row, steps, took);
  }

 private:
  struct OfWorker {
    double begun = 0, last = 0, before = 0;  // seconds of a local step in the last two clocks
    std::int64_t ended = 0;
    bool is_fastest = false;
  };

  void check_time(const Row& row, double steps, double took) {
    const double most = facts_.most_batches > 0 ? static_cast<double>(facts_.most_batches) : 1e6;
    const double time = *facts_.local_time, slack = 1e-6 * time + rounding(row.at);
    if (steps > most)
      violated(row, "{} computes {} batches; a clock has {} at most", name(row.node), steps, most);
    else if (steps > 1 && took > time + slack)
      violated(row, "{} takes {:.9g} s for {} local steps; a clock has {:.9g} s", name(row.node), took, steps,
               time);
    else if (steps < most && took > 0 && took / steps * (steps + 1) < time - slack)
      violated(row, "{} takes {} local steps in {:.9g} s; one more would fit in {:.9g} s", name(row.node),
               steps, took, time);
  }
  void check_speed(const Row& row, double steps, const OfWorker& worker) {
    const auto most = static_cast<double>(facts_.dynamic_steps);
    if (steps > most || (worker.is_fastest && steps < most))
      violated(row, "{}{} takes {} local steps; the fastest worker takes {}", name(row.node),
               worker.is_fastest ? ", the fastest," : "", steps, most);
  }
  // Clearly, in the last clocks of all workers.
  bool is_fastest(std::uint32_t node) const {
    constexpr double clearly = 1.01;
    const OfWorker& own = workers_.at(node);
    return own.ended > 0 && workers_.size() == facts_.workers &&
           std::ranges::all_of(workers_, [&](const auto& other) {
             const OfWorker& one = other.second;
             return other.first == node ||
                    (one.ended > 1 && own.last * clearly < std::min(one.last, one.before));
           });
  }

  std::map<std::uint32_t, OfWorker> workers_;
};

}  // namespace

void add_staleness_checks(const Evidence& evidence, Checks& checks) {
  add_checks<Staleness, Closings, Copies, LocalSteps, GivenUp>(evidence, checks);
}

// Checks cuts and moves of shards, and the loads of servers in the summary, only from the events.

namespace {

class Moves final : public Check {
 public:
  explicit Moves(const Evidence& evidence) : Check(evidence, "moves"), values_(facts_.servers) {}

  void on(const Row& row) override {
    if (row.is<Sent>(MessageKind::push) && facts_.is_server(row.peer)) values_[row.peer - 1] += row.values;
    if (row.is<Sent>(MessageKind::weights) && facts_.is_server(row.node)) values_[row.node - 1] += row.values;
    if (row.is<ShardPlace>()) epoch_[row.shard] = row.epoch;
    if (row.is<ShardCut>()) on_cut(row);
    if (row.is<ShardMove>()) on_move(row);
    end_ = row.at;
  }

  void at_end(std::int64_t) override {
    if (!summary_.contains("failures")) return does_not_apply();
    if (shifts_.empty()) return does_not_apply();
    end_ = summary_.at("sim_time_s");
    const std::vector<double> last = take_rates();
    const Json told = summary_.at("failures").value("rebalances", Json::array());
    if (told.size() != shifts_.size())
      return violated("shards moved {} times in the events, {} in the summary", shifts_.size(), told.size());
    for (std::size_t i = 0; i < shifts_.size(); ++i) {
      const std::vector<double>& after = i + 1 < shifts_.size() ? shifts_[i + 1].before : last;
      compare(shifts_[i], after, told[i]);
    }
    std::int64_t held = 0;
    const std::int64_t all = parameters();
    for (const Json& server : summary_.at("servers")) held += server.at("parameters").get<std::int64_t>();
    examined();
    if (held > all) violated("the servers hold {} parameters of {}", held, all);
  }

 private:
  struct Shift {
    std::int64_t view = 0, shards = 0, cuts = 0, parameters = 0;
    std::vector<double> before = {};
  };

  // The parameters of all models on the servers.
  std::int64_t parameters() const {
    if (!summary_.contains("groups")) return summary_.at("model").at("parameters");
    std::map<std::int64_t, std::int64_t> of_spaces;
    for (const Json& group : summary_.at("groups"))
      of_spaces[group.at("namespace")] = group.at("model").at("parameters");
    std::int64_t sum = 0;
    for (const auto& [space, own] : of_spaces) sum += own;
    return sum;
  }
  Shift& of_view(std::int64_t view) {
    if (shifts_.empty() || shifts_.back().view != view)
      shifts_.push_back({.view = view, .before = take_rates()});
    return shifts_.back();
  }
  std::vector<double> take_rates() {
    std::vector<double> rates;
    for (std::uint64_t& values : values_) {
      rates.push_back(end_ > since_ ? static_cast<double>(values) / (end_ - since_) : 0);
      values = 0;
    }
    since_ = end_;
    return rates;
  }

  void on_cut(const Row& row) {
    examined();
    end_ = row.at;
    ++of_view(row.view).cuts;
    const auto known = size_.find(row.shard);
    const auto new_values = static_cast<std::uint64_t>(row.as<ShardCut>().part_values);
    if (row.values == 0 || new_values == 0 ||
        (known != size_.end() && known->second != row.values + new_values))
      violated(row, "shard {} is cut in {} and {} values", row.shard, row.values, new_values);
    if (row.epoch <= epoch_[row.shard])
      violated(row, "shard {} is cut within epoch {}", row.shard, row.epoch);
    size_[row.shard] = row.values;
    size_[row.part] = new_values;
    if (const auto goal = goal_.find(row.shard); goal != goal_.end()) goal_[row.part] = goal->second;
  }

  void on_move(const Row& row) {
    examined();
    end_ = row.at;
    Shift& shift = of_view(row.view);
    ++shift.shards;
    shift.parameters += static_cast<std::int64_t>(row.values);
    const auto goal = goal_.find(row.shard);
    const std::uint32_t from = row.as<ShardMove>().from;
    if (from == row.peer || (goal != goal_.end() && goal->second != from))
      violated(row, "shard {} goes from {} to {}, but it was not there", row.shard, name(from),
               name(row.peer));
    goal_[row.shard] = row.peer;
    const auto [size, is_new] = size_.try_emplace(row.shard, row.values);
    if (!is_new && size->second != row.values)
      violated(row, "shard {} has {} values, and moves with {}", row.shard, size->second, row.values);
  }

  void compare(const Shift& shift, const std::vector<double>& after, const Json& told) {
    examined();
    bool agrees = told.at("view") == shift.view && told.at("shards") == shift.shards &&
                  told.at("cuts") == shift.cuts && told.at("parameters") == shift.parameters;
    const auto same = [](double counted, const Json& said) {
      return std::abs(said.get<double>() - counted) <= 1e-9 * (1 + counted);
    };
    for (std::size_t s = 0; s < shift.before.size(); ++s) {
      const Json& server = told.at("servers").at(s);
      agrees = agrees && same(shift.before[s], server.at("load_before_per_s")) &&
               same(after[s], server.at("load_after_per_s"));
    }
    if (!agrees) violated("view {}: the summary tells of its moves what the events do not", shift.view);
  }

  std::vector<std::uint64_t> values_;  // by server, since the last shift
  double since_ = 0, end_ = 0;
  std::vector<Shift> shifts_;
  std::map<std::uint32_t, std::int64_t> epoch_;  // by shard, in the last view
  std::map<std::uint32_t, std::uint64_t> size_;  // by shard
  std::map<std::uint32_t, std::uint32_t> goal_;  // by shard: its last destination
};

}  // namespace

void add_move_check(const Evidence& evidence, Checks& checks) { add_checks<Moves>(evidence, checks); }

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
  // window or a deadline makes smaller updates. With a grace the members may change before the update.
  bool says(std::uint32_t shard, const History& history) const {
    const bool had_others = facts_.rule.grace && history.watched();
    return !facts_.follows(shard) && !facts_.rule.closes_early() && !had_others;
  }
  void on_pull(const Row& row) {
    std::int64_t& clock = clocks_[{row.shard, row.peer}];
    clock = std::max(clock, row.clock);
  }
  // `pushes`: nodes of workers; `version`: of the weights. With a grace it is enough that the first pushes
  // made the expression true.
  bool holds(const std::vector<std::uint32_t>& pushes, const std::vector<Count>& counts,
             std::int64_t version) const {
    const auto members = std::ranges::count_if(counts, &Count::member);
    const auto clock = [](const Count& count) { return count.clock(); };
    const std::int64_t least = formula_.uses("min_clock") ? std::ranges::min(counts, {}, clock).clock() : 0,
                       most = formula_.uses("min_clock") ? std::ranges::max(counts, {}, clock).clock() : 0,
                       before = least - std::ssize(pushes);
    const auto number = [](auto value) { return static_cast<double>(value); };
    const std::int64_t all = std::ssize(pushes);
    for (std::int64_t slowest = std::max<std::int64_t>(0, before); slowest <= most; ++slowest) {
      for (std::int64_t first = facts_.rule.grace ? 1 : all; first <= all; ++first) {
        if (formula_.holds({number(first), number(members), number(version), number(slowest),
                            number(facts_.workers), number(facts_.k), number(facts_.rule.bound.staleness)}))
          return true;
      }
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
  explicit Versions(const Evidence& evidence) : Check(evidence, "versions") {}
  void on(const Row& row) override {
    if (row.is<Promotion>()) return begins(row);
    if (!row.is<ModelUpdate>() || !facts_.is_server(row.node)) return;
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
  explicit Updates(const Evidence& evidence) : Check(evidence, "updates"), fewest_(history_) {
    if (!facts_.update_rule.empty()) own_.emplace(facts_);
  }

  void on(const Row& row) override {
    if (own_ && row.is<Received>(MessageKind::pull)) own_->on_pull(row);
    fewest_.on(row);
    if (row.is<Received>(MessageKind::pull) && facts_.steps > 0 && row.clock >= facts_.steps)
      some_finished_ = true;
    if (row.is(Outcome::applied)) {
      pushes_[{row.shard, row.node}].push_back(row.peer);
      if (fresh_ && !facts_.follows(row.shard) && row.staleness != 0)
        violated(row, "{} applies {}, which is {} updates old", name(row.node), push_of(row), row.staleness);
      return;
    }
    if (!row.is<ModelUpdate>() || !facts_.is_server(row.node)) return;
    examined();
    std::vector<std::uint32_t> pushes = std::exchange(pushes_[{row.shard, row.node}], {});
    const std::vector<Count>& counts = history_.find(row.shard, row.node)->workers;
    const std::int64_t at_least = fewest_.take(row),
                       members = rule_.grace ? at_least : members_of(row, history_);
    const std::int64_t whole =
        members < std::ssize(counts) ? std::min<std::int64_t>(facts_.rule.group, members) : facts_.rule.group;
    const std::int64_t size = std::ssize(pushes);
    // A worker that the first shard counted may be gone, and no other worker has a push to replace it.
    const bool follows = facts_.follows(row.shard);
    const std::int64_t gone = std::ssize(counts) - members;
    const std::int64_t needed = follows ? std::max<std::int64_t>(1, whole - gone) : whole;
    // The check `closings` examines updates that are made when their time is over.
    // Where late pushes count, the last groups shrink as workers finish.
    const bool is_whole =
        rule_.grace && !rule_.own_logic && !follows && !some_finished_ && !history_.watched();
    const bool is_counted = (fresh_ || is_whole) && !rule_.closes_early();
    const std::int64_t least = is_counted ? needed : changes_without_ ? 0 : 1;
    const std::int64_t most = single_ && !follows ? 1 : fresh_ && !rule_.grace ? facts_.rule.group : size;
    if (size < least || size > most)
      violated(row, "version {} of shard {} at {} is made of {} pushes, not {}", row.version, row.shard,
               name(row.node), size, least);
    std::ranges::sort(pushes);
    if (once_each_ && std::ranges::adjacent_find(pushes) != pushes.end())
      violated(row, "version {} of shard {} at {} has two pushes of one worker", row.version, row.shard,
               name(row.node));
    if (own_ && own_->says(row.shard, history_) && !own_->holds(pushes, counts, row.version - 1) &&
        !own_->is_last(row.shard, pushes, counts))
      violated(row, "version {} of shard {} at {} is made of {} pushes, for which `{}` is false", row.version,
               row.shard, name(row.node), size, own_->text());
  }

 private:
  std::optional<OwnRule> own_;  // for a consistency model of the scenario
  FewestMembers fewest_;
  bool some_finished_ = false;  // a worker has asked for a clock after its last one
  const ResolvedRule& rule_ = facts_.rule;
  const bool fresh_ = rule_.drops_stale && !rule_.own_logic;
  const bool single_ = rule_.is_in_turn && !rule_.own_logic;
  const bool once_each_ = rule_.waits_for(Gate::version) && !facts_.at_least_once;
  // A task may change weights without a push.
  const bool changes_without_ = std::ranges::any_of(
      facts_.tasks, [](const TaskFact& task) { return task.does == "scale" || task.does == "clip"; });
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>>
      pushes_;  // by shard and server
};

class ExactlyOnce final : public Check {
 public:
  explicit ExactlyOnce(const Evidence& evidence) : Check(evidence, "exactly-once") {}
  void on(const Row& row) override {
    if (!row.is(Outcome::applied)) return;
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
  explicit Shares(const Evidence& evidence) : Check(evidence, "shares") {
    if (!facts_.steals && !(facts_.shares_out && facts_.in_step())) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is_crash() && row.peer == 0) decisions_.clear();
    if (row.is<Sent>(MessageKind::assign)) return on_part(row);
    if (!facts_.steals) return;
    if (row.is_step(ComputePhase::begun)) given_[row.node].clear();
    if (row.is<Sent>(MessageKind::piece)) given_[row.node][row.part] = row.samples;
    if (!row.is_step(ComputePhase::ended) || summary_.contains("groups")) return;
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
    const std::int64_t before = row.as<Sent>().samples_before.value_or(0);
    const SampleRange part{before, before + row.samples};
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
  explicit Duplicates(const Evidence& evidence) : Check(evidence, "duplicates") {}
  void on(const Row& row) override {
    if (!row.is<PushOutcome>()) return;
    const Id id{row.shard, row.peer, row.push};
    if (row.is(Outcome::applied, Outcome::late, Outcome::unused)) {
      taken_.insert(id);
      open_.erase(id);
    } else if (row.is(Outcome::duplicate)) {
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
