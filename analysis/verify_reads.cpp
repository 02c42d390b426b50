// What workers may see, and how far apart they are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "analysis/verify_checks.hpp"
#include "model/mutant.hpp"

namespace psim::analysis {
namespace {

// What a worker has asked a shard for, since it last came up.
struct Asked {
  struct Pull {
    std::int64_t above = -1, pushes = 0;
    std::int64_t epoch = 0;  // in which it was sent last
  };
  std::map<std::int64_t, Pull> pulls = {};  // by number, not answered yet
  std::int64_t answered = 0;                // the last one whose answer is here
};

// The requests of all workers.
class Requests {
 public:
  using Id = std::pair<std::uint32_t, std::uint32_t>;  // shard, worker's node
  void on(const Row& row, const Facts& facts) {
    if (!facts.is_worker(row.node)) return;
    if (row.what == What::received && row.letter == Letter::weights) return receives(row);
    if (row.what != What::sent) return;
    if (row.letter == Letter::join)
      std::erase_if(asked_, [&](const auto& one) { return one.first.second == row.node; });
    Asked& asked = asked_[{row.shard, row.node}];
    // A repetition may wait to be sent until the answer to the first one has come.
    if (row.letter != Letter::pull || row.pull <= asked.answered) return;
    const Asked::Pull pull{.above = row.above, .pushes = row.pushes_before};
    asked.pulls.try_emplace(row.pull, pull).first->second.epoch = row.epoch;
  }
  // The pull that the weights answer; earlier ones will not be looked for any more. None if the worker has
  // sent a newer one: it takes the answer to its last pull only, and the older one came late.
  std::optional<Asked::Pull> answered(const Row& weights) {
    std::map<std::int64_t, Asked::Pull>& pulls = asked_[{weights.shard, weights.peer}].pulls;
    const auto pull = pulls.find(weights.pull);
    if (pull == pulls.end() || std::next(pull) != pulls.end()) return std::nullopt;
    pulls.erase(pulls.begin(), pull);
    return pull->second;
  }

 private:
  // It listens to no other epoch than its own; and to no second answer.
  void receives(const Row& weights) {
    Asked& asked = asked_[{weights.shard, weights.node}];
    const auto pull = asked.pulls.find(weights.pull);
    if (pull == asked.pulls.end() || pull->second.epoch != weights.epoch) return;
    asked.answered = weights.pull;
    asked.pulls.erase(pull);
  }

  std::map<Id, Asked> asked_;
};

// Who waits for an owner, and will not push before it answers.
class Waiting {
 public:
  void on(const Row& row, const Facts& facts) {
    const bool stops = row.what == What::ended || row.what == What::cancelled || row.what == What::killed;
    if (row.is_step && row.what == What::begun) computing_.insert(row.node);
    if (row.is_step && stops) computing_.erase(row.node);
    const bool push = row.letter == Letter::push;
    if (row.what == What::sent && push) under_way_[{row.shard, row.node}] = row.push;
    if (row.what == What::sent && row.letter == Letter::weights && facts.is_worker(row.peer))
      answered_[{row.shard, row.node, row.peer}] = row.at;
    if (row.what != What::received || (!push && row.letter != Letter::pull)) return;
    answered_[{row.shard, row.node, row.peer}] = HUGE_VAL;
    const auto sent = under_way_.find({row.shard, row.peer});
    if (push && sent != under_way_.end() && sent->second <= row.push) under_way_.erase(sent);
  }
  // Whether these are all that take part, those among them that are answered with this one.
  bool all(const Row& answer, const Reign& owner, const Facts& facts) const {
    for (std::uint32_t w = 0; w < owner.workers.size(); ++w) {
      const std::uint32_t node = 1 + facts.servers + w;
      const auto last = answered_.find({answer.shard, answer.node, node});
      const bool waits = last != answered_.end() && last->second >= answer.at && !computing_.contains(node) &&
                         !under_way_.contains({answer.shard, node});
      if (owner.workers[w].member && !waits) return false;
    }
    return true;
  }

 private:
  // By shard, server and worker: when it was last answered; or for ever, if it has sent something since.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, double> answered_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> under_way_;  // pushes, by shard and worker
  std::set<std::uint32_t> computing_;
};

const Reign& sender(const Row& row, const History& history) {
  return *history.shard(row.shard).of_server.at(row.node);
}

bool is_answer(const Row& row, const History& history) {
  if (row.what != What::sent || row.letter != Letter::weights) return false;
  const auto shard = history.shards().find(row.shard);  // before the first push, nobody has done anything
  return shard != history.shards().end() && shard->second.of_server.contains(row.node);
}

class Reads final : public Check {
 public:
  explicit Reads(const std::string& model)
      : Check("reads", promise_of(model)),
        newer_(model == "bsp" || model == "k-sync"),
        exact_(model == "bsp"),
        own_(model == "k-async") {
    if ((!newer_ && !own_ && model != "ssp" && model != "dssp") || mutant("reads-always-hold"))
      does_not_apply();
  }

  void on(const Row& row, const History& history) override {
    if (!report().applies) return;
    requests_.on(row, history.facts());
    waiting_.on(row, history.facts());
    if (!is_answer(row, history)) return;
    examined();
    const std::optional<Asked::Pull> pull = requests_.answered(row);
    if (newer_) return look_at_version(row, history, pull);
    const Reign& owner = sender(row, history);
    const Count& own = owner.workers[history.facts().worker(row.peer)];
    if (own_) {
      if (pull && own.counted() < pull->pushes)
        violated(row,
                 fmt::format("{} sends shard {} to {} before it has applied its push {}",
                             name(row.node, history), row.shard, name(row.peer, history), pull->pushes - 1));
      return;
    }
    const std::int64_t least = row.clock - history.facts().bound_at(row.clock).value_or(row.clock);
    for (std::uint32_t w = 0; w < owner.workers.size(); ++w) {
      const Count& count = owner.workers[w];
      if (count.member && !count.behind && count.clock() < least)
        violated(row,
                 fmt::format("{} lets {} start clock {} with shard {}, which has worker {}'s pushes up to "
                             "clock {}, not {}",
                             name(row.node, history), name(row.peer, history), row.clock, row.shard, w,
                             count.clock(), least));
    }
  }

 private:
  static std::string promise_of(const std::string& model) {
    if (model == "bsp") return "a worker that starts clock t sees all pushes of clock t-1, and no others";
    if (model == "k-sync") return "a worker that starts its next clock sees a newer version";
    if (model == "k-async") return "a worker that starts a clock sees its own last push applied";
    return "a worker that starts clock t sees all others' pushes up to clock t-1-s";
  }
  static std::string name(std::uint32_t node, const History& history) {
    return history.facts().name_of(node);
  }

  // A shard that lost updates, or pushes, gives what it has; and one of k-sync the last version once more,
  // when all wait and too few pushes have come for an update.
  void look_at_version(const Row& row, const History& history, const std::optional<Asked::Pull>& pull) {
    if (!pull) return;  // a repeated one that came late: its worker has gone on
    const bool all_wait = !exact_ && waiting_.all(row, sender(row, history), history.facts());
    const bool lossy = history.shard(row.shard).set_back || all_wait;
    const bool old = row.version <= pull->above && !lossy;
    const bool other =
        exact_ && row.version != row.clock && !history.any_set_back() && !history.was_away(row.peer);
    if (old || other)
      violated(row,
               fmt::format("{} lets {} start clock {} with version {} of shard {}", name(row.node, history),
                           name(row.peer, history), row.clock, row.version, row.shard));
  }

  bool newer_, exact_, own_;
  Requests requests_;
  Waiting waiting_;
};

class ReadMyWrites final : public Check {
 public:
  ReadMyWrites()
      : Check("read-my-writes", "a pull is answered only when all pushes before it have arrived") {}

  void on(const Row& row, const History& history) override {
    requests_.on(row, history.facts());
    if (row.what == What::received && row.letter == Letter::push) {
      std::vector<bool>& here = arrived_[{row.shard, row.node, row.peer, row.epoch}];
      const auto number = static_cast<std::size_t>(row.push);
      if (here.size() <= number) here.resize(std::max(number + 1, here.size() * 2));
      here[number] = true;
    }
    if (!is_answer(row, history)) return;
    const std::optional<Asked::Pull> pull = requests_.answered(row);
    if (!pull) return;
    examined();
    const Count& count = sender(row, history).workers[history.facts().worker(row.peer)];
    const std::vector<bool>& here = arrived_[{row.shard, row.node, row.peer, row.epoch}];
    for (std::int64_t number = std::max(count.counted(), count.arrived); number < pull->pushes; ++number) {
      if (static_cast<std::size_t>(number) < here.size() && here[static_cast<std::size_t>(number)]) continue;
      violated(row, fmt::format("{} answers pull {} of {} for shard {}, though its push {} has not arrived",
                                history.facts().name_of(row.node), row.pull,
                                history.facts().name_of(row.peer), row.shard, number));
      return;
    }
  }

 private:
  Requests requests_;
  // By shard, server, worker and epoch: a server listens to no other epoch than its own.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>, std::vector<bool>> arrived_;
};

// A worker that was away counts again when it has caught up with the others. It may compute all the while, if
// it was only taken for down.
class ClockGap final : public Check {
 public:
  explicit ClockGap(const Facts& facts)
      : Check("clock-gap", "no worker starts a clock further ahead of another than the staleness bound"),
        workers_(facts.workers),
        slack_(facts.pull_every - 1 + (facts.elastic || facts.overlap ? 1 : 0)) {
    if (!facts.bound_at(0)) does_not_apply();
  }

  void on(const Row& row, const History& history) override {
    if (!report().applies || history.any_set_back()) return;
    const Facts& facts = history.facts();
    const bool goes = row.what == What::fault && row.fault != Fault::other;
    if ((goes || row.what == What::suspicion) && facts.is_worker(row.peer))
      workers_[facts.worker(row.peer)].away = true;
    if (row.what == What::membership && row.takes_part == 0) workers_[facts.worker(row.peer)].away = true;
    if (!facts.is_worker(row.node)) return;
    Progress& own = workers_[facts.worker(row.node)];
    if ((row.is_step && row.what == What::ended) || row.what == What::finish)
      own.done = std::max(own.done, row.what == What::finish ? row.clock : row.clock + 1);
    if (!row.is_step || row.what != What::begun) return;
    examined();
    look_at(row, own, history);
  }

 private:
  struct Progress {
    std::int64_t done = 0;  // clocks
    bool away = false;
  };

  void look_at(const Row& row, Progress& own, const History& history) {
    std::optional<std::int64_t> least;
    std::size_t slowest = 0;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (workers_[w].away || &workers_[w] == &own || (least && workers_[w].done >= *least)) continue;
      least = workers_[w].done;
      slowest = w;
    }
    own.done = own.away ? row.clock : std::max(own.done, row.clock);  // perhaps it was told to skip some
    own.away = own.away && (history.is_given_up(row.node) || (least && row.clock < *least));
    const std::int64_t bound = *history.facts().bound_at(row.clock) + slack_;
    if (least && row.clock - *least > bound)
      violated(row,
               fmt::format("{} starts clock {}, {} ahead of worker {}; the bound is {}",
                           history.facts().name_of(row.node), row.clock, row.clock - *least, slowest, bound));
  }

  std::vector<Progress> workers_;
  std::int64_t slack_;
};

}  // namespace

void add_read_checks(const Facts& facts, Checks& checks) {
  checks.push_back(std::make_unique<Reads>(facts.model));
  checks.push_back(std::make_unique<ClockGap>(facts));
  checks.push_back(std::make_unique<ReadMyWrites>());
}

}  // namespace psim::analysis
