#include "analysis/verify/history.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/clock_progress.hpp"
#include "analysis/decisions.hpp"
#include "analysis/verify/checks.hpp"

namespace psim::analysis {

void add(PushNumbers& numbers, std::int64_t number) {
  const auto index = static_cast<std::size_t>(number);
  if (numbers.size() <= index) numbers.resize(std::max(index + 1, numbers.size() * 2));
  numbers[index] = true;
}

bool has(const PushNumbers& numbers, std::int64_t number) {
  return number >= 0 && number < std::ssize(numbers) && numbers[static_cast<std::size_t>(number)];
}

void Count::add(std::int64_t number) {
  analysis::add(applied, number);
  mark = std::max(mark, number + 1);
}

std::optional<Ownership::Hashes> Ownership::hashes_at(std::int64_t at) const {
  const Ownership* ownership = this;
  if (of_whole) return std::nullopt;
  while (ownership != nullptr && at <= ownership->from) ownership = ownership->before;
  if (ownership == nullptr || ownership->of_whole) return std::nullopt;
  const auto index = static_cast<std::size_t>(at - ownership->from - 1);
  return index < ownership->hashes.size() ? std::optional(ownership->hashes[index]) : std::nullopt;
}

History::History(const Facts& facts, bool watched) : facts_(facts), watched_(watched) {
  const std::size_t nodes = 1 + facts.servers + facts.workers;
  away_.resize(nodes);
  leaving_.resize(nodes);
}

Ownership& History::ownership(std::uint32_t s, std::uint32_t server) {
  ShardHistory& shard = shards_[s];
  Ownership*& current = shard.of_server[server];
  if (current != nullptr) return *current;
  // The first owner is not promoted.
  const auto [first, is_new] = shard.ownerships.try_emplace(0, Ownership{.shard = s, .node = server});
  current = &first->second;
  if (is_new) {
    current->workers.resize(facts_.workers);
    holds(*current, server);
    shard.dropped.resize(facts_.workers);
    shard.given_up.resize(facts_.workers);
  }
  return *current;
}

const Ownership* History::owner(std::uint32_t shard) const {
  const auto found = shards_.find(shard);  // a cut shard may have no owner yet that did anything
  return found == shards_.end() || found->second.ownerships.empty() ? nullptr : &found->second.owner();
}

const Ownership* History::find(std::uint32_t shard, std::uint32_t server) const {
  const auto found = shards_.find(shard);
  if (found == shards_.end()) return nullptr;
  const auto own = found->second.of_server.find(server);
  return own == found->second.of_server.end() ? nullptr : own->second;
}

bool History::will_not_come(std::uint32_t s, std::uint32_t worker, std::int64_t push) const {
  return has(shard(s).dropped[worker], push) || has(shard(s).given_up[worker], push);
}

void History::on(const Row& row) {
  const bool is_of_view = row.is<ShardPlace, Participant>();
  if (is_told_view_ && !is_of_view) let_go();
  if (is_of_view) return on_view(row);
  if (row.is<ShardCut>()) cuts_[row.part] = {.shard = row.shard, .epoch = row.epoch};
  if (row.is(Outcome::applied)) {
    Ownership& owner = ownership(row.shard, row.node);
    const std::uint32_t worker = facts_.worker(row.peer);
    forget_earlier_life(owner, row.peer);
    repeated_ = owner.in_lineage(worker, row.push);
    owner.workers[worker].add(row.push);
    owner.applications.push_back({worker, row.push, owner.version + 1, row.number});
    applied_[{row.shard, row.peer}] = row.number;
  }
  if (row.is(Outcome::late)) {
    Count& count = ownership(row.shard, row.node).workers[facts_.worker(row.peer)];
    count.base = std::max(count.base, row.push + 1);
    add(shards_[row.shard].dropped[facts_.worker(row.peer)], row.push);
  }
  if (row.is<ModelUpdate>() && facts_.is_server(row.node)) {
    Ownership& owner = ownership(row.shard, row.node);
    last_version_ = std::exchange(owner.version, row.version);
    // Its successor, unknown to this owner, has begun without this push.
    ShardHistory& shard = shards_[row.shard];
    if (owner.epoch < shard.owner().epoch) shard.set_back = set_back_ = true;
    owner.hashes.emplace_back(row.as<ModelUpdate>());
  }
  if (row.is<Recount>()) on_member(row);
  if (row.is<Received>(MessageKind::join) && row.node == 0) {
    joined_[row.peer] = row.number;
    if (row.peer < leaving_.size()) leaving_[row.peer] = false;
  }
  if (row.is<Copy>()) holds(ownership(row.shard, row.node), row.peer);
  if (row.is<Promotion>()) on_promote(row);
  if (row.is<Suspicion>()) away_[row.peer] = true;
  if (row.is<FaultChange>()) on_fault(row);
}

bool History::is_given_up(std::uint32_t node) const {
  const auto takes_no_part = [&](const auto& shard) {
    return !shard.second.ownerships.empty() && !shard.second.owner().workers[facts_.worker(node)].member;
  };
  const bool is_left_out = view_ && !view_->participants.contains(node);
  return is_left_out || (!shards_.empty() && std::ranges::all_of(shards_, takes_no_part));
}

// A push is known by its worker, by the life of that worker, and by its number. Where only workers have
// copies, a new owner knows no pushes of a worker that was down. This worker numbers its pushes from the
// beginning when it is back, before or after the takeover.
void History::forget_earlier_life(Ownership& owner, std::uint32_t peer) {
  Count& count = owner.workers[facts_.worker(peer)];
  const auto joined = joined_.find(peer);
  const auto applied = applied_.find({owner.shard, peer});
  if (!facts_.sums || count.base > 0 || count.arrived > 0 || joined == joined_.end() ||
      applied == applied_.end() || applied->second > std::min(joined->second, owner.promoted))
    return;
  count.applied.clear();
  count.mark = 0;
  lives_[{owner.shard, facts_.worker(peer)}] = joined->second;
}

// Pushes that a server counts but has not applied were given up. Exception: its counts at the start, where
// the last pushes that count as arrived may still wait to be applied.
void History::on_member(const Row& row) {
  const Recount& told = row.as<Recount>();
  const std::uint32_t worker = facts_.worker(row.peer);
  Ownership& owner = ownership(row.shard, row.node);
  Count& count = owner.workers[worker];
  const bool was_awaited = count.member && !count.behind;
  const std::int64_t awaited_from = was_awaited ? count.awaited_from : row.number;
  count.member = told.takes_part;
  if (!count.member) away_[row.peer] = true;
  count.behind = count.member && !told.is_awaited;
  count.ahead = told.skipped_clocks;
  count.arrived = owner.fresh ? told.arrived : std::max(count.arrived, told.arrived);
  if (told.applied > count.counted()) {
    ShardHistory& shard = shards_[row.shard];
    shard.set_back = set_back_ = true;
    const std::int64_t first = told.arrived - (told.applied - count.counted());
    for (std::int64_t number = std::max<std::int64_t>(0, first); number < told.arrived; ++number)
      if (!owner.fresh) add(shard.given_up[worker], number);
  }
  if (owner.fresh || told.applied > count.counted()) count.base = told.applied;
  forget_earlier_life(owner, row.peer);
  count.awaited_from = awaited_from;
  if (std::ranges::find(facts_.last_workers, worker) != facts_.last_workers.end()) owner.fresh = false;
}

// Only nodes with a place in the newest view become owners, and they ask no others. A replaced owner keeps
// its data until it has handed them over.
bool History::has_place(const Ownership& ownership, std::uint32_t node) const {
  if (!view_) return true;
  const auto epoch = view_->epochs.find(ownership.shard);
  const bool is_replaced =
      node == ownership.node && epoch != view_->epochs.end() && ownership.epoch < epoch->second;
  return (is_replaced ? view_->former : view_->places).contains({ownership.shard, node});
}

void History::holds(Ownership& ownership, std::uint32_t node) const {
  const bool takes_it_away = node != ownership.node && leaving_[node];
  if (has_place(ownership, node) && !takes_it_away) ownership.holders.insert(node);
}

// Handles a row of a view: a place, or a participant.
void History::on_view(const Row& row) {
  if (!view_ || view_->number != row.view) view_ = View{.number = row.view};
  is_told_view_ = true;
  if (row.is<Participant>()) {
    view_->participants.insert(row.peer);
    return;
  }
  view_->places.insert({row.shard, row.peer});
  if (row.as<ShardPlace>().role == PlaceRole::former) view_->former.insert({row.shard, row.peer});
  view_->epochs[row.shard] = row.epoch;
}

// A node without a place in the new view has dropped the shard, or will drop it.
void History::let_go() {
  is_told_view_ = false;
  for (auto& [number, shard] : shards_) {
    for (auto& entry : shard.ownerships) {
      Ownership& ownership = entry.second;
      std::erase_if(ownership.holders, [&](std::uint32_t node) { return !has_place(ownership, node); });
    }
  }
}

void History::crashes(std::uint32_t node) {
  for (auto& [number, shard] : shards_) {
    for (auto& [epoch, ownership] : shard.ownerships) {
      ownership.holders.erase(node);
      ownership.over = ownership.over || ownership.node == node;
    }
  }
}

// A leaving server hands over the shards that it owns. Its copies disappear.
void History::leaves(std::uint32_t node) {
  leaving_[node] = true;
  for (auto& [number, shard] : shards_) {
    for (auto& [epoch, ownership] : shard.ownerships) {
      if (shard.owner().node != node) ownership.holders.erase(node);
    }
  }
}

// A crash ends with a restart.
void History::on_fault(const Row& row) {
  if (!row.begins || row.peer >= away_.size() || !row.takes_away()) return;
  away_[row.peer] = true;
  row.is_crash() ? crashes(row.peer) : leaves(row.peer);
}

// The applications that made version `version` of `from`, without those of earlier lives.
void History::inherit(Ownership& ownership, const Ownership& from, std::int64_t version) const {
  if (from.before != nullptr) inherit(ownership, *from.before, std::min(version, from.from));
  for (const Application& one : from.applications) {
    const auto life = lives_.find({ownership.shard, one.worker});
    if (life != lives_.end() && one.event < life->second) continue;
    if (one.version <= version) ownership.workers[one.worker].add(one.number);
  }
  for (std::size_t w = 0; w < ownership.workers.size(); ++w)
    ownership.workers[w].base = std::max(ownership.workers[w].base, from.workers[w].base);
}

// A new part has the history of its old shard up to the cut.
void History::begin_as_part(std::uint32_t number) {
  const auto cut = cuts_.find(number);
  if (cut == cuts_.end() || !shards_[number].ownerships.empty()) return;
  begin_as_part(cut->second.shard);
  const ShardHistory& whole = shards_[cut->second.shard];
  ShardHistory& part = shards_[number];
  part.dropped = whole.dropped;
  part.given_up = whole.given_up;
  part.set_back = whole.set_back;
  for (const auto& [epoch, ownership] : whole.ownerships) {
    if (epoch >= cut->second.epoch) break;
    Ownership& own = part.ownerships.emplace(epoch, ownership).first->second;
    own.shard = number;
    own.of_whole = true;
    if (own.before != nullptr) own.before = &part.ownerships.at(own.before->epoch);
    std::erase_if(own.holders, [&](std::uint32_t node) { return !has_place(own, node); });
    part.of_server[own.node] = &own;
  }
}

void History::follow_versions(const Row& row, std::map<std::uint32_t, std::int64_t>& versions) const {
  if (row.is<ShardCut>()) versions[row.part] = versions[row.shard];
  if (row.is<ModelUpdate>() && facts_.is_server(row.node)) versions[row.shard] = row.version;
  if (!row.is<Promotion>() || owner(row.shard)->epoch != row.epoch) return;
  std::int64_t& version = versions[row.shard];
  version = cut_from(row.shard) ? std::max(version, row.version) : row.version;
}

void History::forget_hashes(std::uint32_t number, std::int64_t epoch) {
  for (const auto& [part, cut] : cuts_) {
    if (cut.shard != number || cut.epoch > epoch) continue;
    for (auto& [before, ownership] : shards_[number].ownerships)
      ownership.of_whole = ownership.of_whole || before < cut.epoch;
  }
}

void History::on_promote(const Row& row) {
  begin_as_part(row.shard);
  forget_hashes(row.shard, row.epoch);
  ShardHistory& shard = shards_[row.shard];
  shard.dropped.resize(facts_.workers);
  shard.given_up.resize(facts_.workers);
  if (shard.ownerships.empty()) {
    Ownership none{.shard = row.shard};
    none.workers.resize(facts_.workers);
    shard.ownerships.emplace(0, std::move(none));
  }
  replaced_ = &shard.owner();
  copy_was_there_ = !replaced_->holders.empty();
  Ownership next{.shard = row.shard,
                 .node = row.node,
                 .epoch = row.epoch,
                 .before = nullptr,
                 .from = row.version,
                 .version = row.version,
                 .promoted = row.number,
                 .fresh = true};
  holds(next, row.node);
  next.workers.resize(facts_.workers, Count{.awaited_from = row.number});
  const std::int64_t updated_in = row.as<Promotion>().updated_in;
  const auto before = shard.ownerships.find(updated_in);
  if (row.version > 0 && before != shard.ownerships.end() && updated_in < row.epoch) {
    next.before = &before->second;
    inherit(next, before->second, row.version);
  }
  if (row.version < replaced_->version) shard.set_back = set_back_ = true;
  const auto [entry, is_new] = shard.ownerships.insert_or_assign(row.epoch, std::move(next));
  epoch_taken_ = !is_new;
  shard.of_server[row.node] = &entry->second;
}

// Checks the versions that workers see, and the distance between their clocks.

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
    if (row.is<Received>(MessageKind::weights)) return receives(row);
    if (row.is<Sent>(MessageKind::join))
      std::erase_if(asked_, [&](const auto& one) { return one.first.second == row.node; });
    if (row.is<Sent>(MessageKind::push)) {
      std::int64_t& next = asked_[{row.shard, row.node}].next;
      next = std::max(next, row.clock + 1);
    }
    if (!row.is<Sent>(MessageKind::pull)) return;
    Asked& asked = asked_[{row.shard, row.node}];
    // A repeated pull may wait in a queue until the answer to the first pull has arrived.
    if (row.pull <= asked.answered) return;
    const Asked::Pull pull{.above = row.as<Sent>().above.value_or(-1),
                           .pushes = row.as<Sent>().pushes_before.value_or(0)};
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
    using enum ComputePhase;
    if (row.is_step(begun)) computing_.insert(row.node);
    if (row.is_step(ended, cancelled, killed)) computing_.erase(row.node);
    if (row.is<Sent>(MessageKind::push)) under_way_[{row.shard, row.node}] = row.push;
    if (row.is<Sent>(MessageKind::weights) && facts.is_worker(row.peer))
      answered_[{row.shard, row.node, row.peer}] = row.at;
    if (row.is<Received>(MessageKind::push, MessageKind::pull))
      answered_[{row.shard, row.node, row.peer}] = HUGE_VAL;
    if (!row.is<Received>(MessageKind::push)) return;
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
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>, PushNumbers> arrived_;
  std::set<std::uint32_t> computing_;
};

// The owner that answers a pull; null for other events, and before the first push.
const Ownership* answering(const Row& row, const History& history) {
  return row.is<Sent>(MessageKind::weights) ? history.find(row.shard, row.node) : nullptr;
}

class Reads final : public Check {
 public:
  explicit Reads(const Evidence& evidence) : Check(evidence, "reads", promise_of(evidence.facts.rule)) {
    if (!newer_ && !own_ && !facts_.rule.waits_for(Gate::staleness)) does_not_apply();
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
  static std::string promise_of(const ResolvedRule& rule) {
    if (rule.waits_for_all())
      return "a worker that starts clock t sees all pushes of clock t-1, and no others";
    if (rule.waits_for(Gate::version)) return "a worker that starts its next clock sees a newer version";
    if (rule.waits_for(Gate::own)) return "a worker that starts a clock sees its own last push applied";
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

  const bool exact_ = facts_.rule.waits_for_all(), newer_ = facts_.rule.waits_for(Gate::version),
             own_ = facts_.rule.waits_for(Gate::own);
  Requests requests_;
  Waiting waiting_;
  Decisions decisions_;
};

class ReadMyWrites final : public Check {
 public:
  explicit ReadMyWrites(const Evidence& evidence) : Check(evidence, "read-my-writes") {}

  void on(const Row& row) override {
    requests_.on(row, facts_);
    if (row.is<Received>(MessageKind::push))
      add(arrived_[{row.shard, row.node, row.peer, row.epoch}], row.push);
    const Ownership* owner = answering(row, history_);
    const std::optional<Asked::Pull> pull = owner == nullptr ? std::nullopt : requests_.answered(row);
    if (!pull) return;
    examined();
    const PushNumbers& here = arrived_[{row.shard, row.node, row.peer, row.epoch}];
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
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>, PushNumbers> arrived_;
};

class ClockGap final : public Check {
 public:
  explicit ClockGap(const Evidence& evidence) : Check(evidence, "clock-gap"), progress_(facts_, history_) {
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
    return facts_.pushes_early ? 1 : 0;
  }

  ClockProgress progress_;
};

}  // namespace

void add_read_checks(const Evidence& evidence, Checks& checks) {
  add_checks<Reads, ClockGap, ReadMyWrites>(evidence, checks);
}

}  // namespace psim::analysis
