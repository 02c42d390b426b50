#include "sim/protocol/server/update_rule.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>

#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

bool makes_update(const Decision& decision) {
  return decision.what == Decision::What::apply && (decision.all || !decision.shares.empty());
}

}  // namespace

UpdateRule::Decided UpdateRule::decided(const ConsistencyRule& rule, std::uint32_t shard,
                                        std::uint32_t shards) {
  if (!rule.first_shard_decides || shards == 1) return Decided::here;
  return shard == 0 ? Decided::here_for_all : Decided::elsewhere;
}

std::int64_t UpdateRule::least_of(NodeId worker, std::int64_t number) const {
  if (!has(worker)) return number;
  for (const Push& push : pending()) {
    if (push.worker == worker) number = std::min(number, push.number);
  }
  return number;
}

void UpdateRule::note_version(const Push& push) {
  if (options_.decided == Decided::elsewhere) last_computed_on_[index_of(push.worker)] = push.first_version;
}

// The first shard's decision about a push is binding for the other shards. Another shard may be behind; then
// pushes of later versions wait. If the first shard was set back, it repeats updates that this shard already
// has. If this shard was set back, pushes computed on undone updates do not count.
bool UpdateRule::is_late(const Push& push, std::int64_t version) const {
  if (!options_.rule->drops_stale) return false;
  if (options_.decided == Decided::elsewhere)
    return PSIM_PROBE(push.first_version < version, "a push is too late here") || push.version > version;
  return push.version != version;
}

void UpdateRule::add(const Push& push, double now) {
  if (PSIM_PROBE(!chosen_.empty() && push.number < chosen_[index_of(push.worker)],
                 "a push was chosen before it came"))
    are_behind_ = true;
  begin_first(now);
  if (pending_.empty()) asked_ = first_came_ = now;
  Push dated = push;
  dated.came_at = now;
  pending_.add(std::move(dated));
}

void UpdateRule::begin(double now) {
  begun_ = first_came_ = now;
  quorum_.reset();
}

std::optional<double> UpdateRule::closes_at(const ShardView& view, Memory memory) const {
  const ConsistencyRule& rule = *options_.rule;
  if (pending_.empty() || options_.decided == Decided::elsewhere) return std::nullopt;
  std::optional<double> first;
  const auto consider = [&](double date) {
    if (std::isfinite(date) && date > held_at_) first = std::min(first.value_or(date), date);
  };
  if (const std::optional<double> own = rule.policy->closes_at(view, memory)) consider(*own);
  if (rule.window) consider(first_came_ + *rule.window);
  if (rule.deadline) consider(*begun_ + *rule.deadline);
  if (quorum_) consider(quorum_->date + *rule.grace);
  return first;
}

bool UpdateRule::closes_by_window(const ShardView& view, Memory memory) const {
  const ConsistencyRule& rule = *options_.rule;
  const std::optional<double> date = closes_at(view, memory);
  const std::optional<double>& window = rule.window;
  const bool is_deadline = rule.deadline || rule.deadline_mad;
  return date && (!is_deadline || (window && !(*date < first_came_ + *window)));
}

std::optional<PushId> UpdateRule::closes_by_grace(const ShardView& view, Memory memory) const {
  if (!quorum_ || closes_at(view, memory) != quorum_->date + *options_.rule->grace) return std::nullopt;
  return quorum_->last;
}

// Another shard that is behind may have several pushes of one worker, for several versions of the first
// shard.
std::optional<Push> UpdateRule::withdraw_for(const Push& next) {
  const bool one_of_each = options_.rule->gate == Gate::version;
  if (!one_of_each || !has(next.worker)) return std::nullopt;
  const auto push = std::ranges::find_if(pending(), [&](const Push& before) {
    const bool is_for_another =
        options_.decided == Decided::elsewhere && before.first_version < next.first_version;
    return before.worker == next.worker && !is_for_another;
  });
  if (push == pending().end()) return std::nullopt;
  return pending_.take(push);
}

std::vector<Push> UpdateRule::take_all(const std::vector<PushId>& but) {
  if (pending().size() == 1 && but.empty()) return pending_.take_all();  // as under asp
  std::vector<Push> all = pending_.take_all();
  const auto waits_on = [&](const Push& push) { return std::ranges::find(but, push.id()) != but.end(); };
  for (const Push& push : all) {
    if (waits_on(push)) pending_.add(push);
  }
  std::erase_if(all, waits_on);
  std::ranges::stable_sort(all, {}, [](const Push& push) { return std::tuple(push.worker, push.number); });
  return all;
}

std::vector<Push> UpdateRule::take_told(const std::optional<PushId>& push) {
  if (!push) return take_all();
  const auto found = std::ranges::find(pending(), *push, &Push::id);
  if (found == pending().end()) return {};
  std::vector<Push> one;
  one.push_back(pending_.take(found));
  return one;
}

// If an update needs all workers, it includes a push of a worker that has gone since, but that push does not
// replace another worker's. Where the first shard decides, a worker may have pushes for several versions of
// that shard.
ShardView UpdateRule::view(const WorkerClocks& workers, std::int64_t version, double now) const {
  using Counted = ShardView::Counted;
  const bool elsewhere = options_.decided == Decided::elsewhere;
  return {.clocks = workers,
          .pending = pending(),
          .version = version,
          .now = now,
          .waits_since = first_came_,
          .updated_at = begun_.value_or(now),
          .first_worker = options_.first_worker,
          .counted = options_.rule->waits_for_all() ? Counted::of_members
                     : elsewhere                    ? Counted::one_of_each_worker
                                                    : Counted::all};
}

bool UpdateRule::is_complete(const ShardView& view, Memory memory) const {
  if (makes_update(options_.rule->policy->on_push(view, memory))) return true;
  return !pending_.empty() && !expects_more(view.clocks);
}

// Whether any worker is left that could push into the next update. The last updates are smaller: the other
// workers have finished, or wait for their own pushes to be applied. A worker that is gone may come back, and
// a policy that does not shrink waits for it. After the last step of the remaining workers the wait ends.
bool UpdateRule::expects_more(const WorkerClocks& workers) const {
  const ConsistencyRule& rule = *options_.rule;
  if (rule.drops_stale) return true;
  std::int64_t may_push = workers.will_push();
  if (!shape_.shrinks && may_push > 0)
    may_push += std::ranges::count_if(
        workers, [](const WorkerClocks::Worker& worker) { return worker.gone && !worker.finished; });
  if (rule.gate == Gate::own) {
    may_push -= std::ranges::count_if(
        pending(), [&](const Push& push) { return !workers[index_of(push.worker)].finished; });
  }
  return may_push > 0;
}

// The condition of an update may become true at a push, or when workers leave. A worker that waits for the
// next version will not push before it.
Decision UpdateRule::with_grace(const ShardView& view, Memory memory, const Waits& waits, Decision decision) {
  if (makes_update(decision) && !quorum_) quorum_ = {.date = view.now, .last = pending().back().id()};
  if (!quorum_ || pending_.empty()) return decision;
  if (PSIM_PROBE(awaits_worker(view.clocks, waits), "an update waits for its grace")) return Decision::hold();
  return options_.rule->policy->on_timer(view, memory);
}

bool UpdateRule::awaits_worker(const WorkerClocks& workers, const Waits& waits) const {
  for (std::uint32_t w = 0; w < workers.size(); ++w) {
    const bool may_push = !workers[w].gone && !workers[w].finished && !waits(w);
    if (may_push && !has(options_.first_worker + w)) return true;
  }
  return false;
}

UpdateRule::Next UpdateRule::next(const ShardView& view, Memory memory, const Waits& waits,
                                  const std::optional<Decision>& on_push) {
  if (options_.decided == Decided::elsewhere)
    return options_.rule->drops_stale ? like_the_first(view, memory, waits) : announced(view, memory);
  const ConsistencyPolicy& policy = *options_.rule->policy;
  const std::optional<double> date = closes_at(view, memory);
  const bool closes = date && view.now >= *date;
  Decision decision = Decision::hold();
  if (PSIM_PROBE(closes, "an update closes by its date")) decision = policy.on_timer(view, memory);
  if (!makes_update(decision)) decision = on_push ? *on_push : policy.on_push(view, memory);
  if (options_.rule->grace && !closes) decision = with_grace(view, memory, waits, std::move(decision));
  if (!closes && !makes_update(decision) && !pending_.empty() && !expects_more(view.clocks))
    decision = policy.on_timer(view, memory);
  if (PSIM_PROBE(closes && !makes_update(decision), "a date passes without an update")) held_at_ = *date;
  if (!makes_update(decision)) {
    if (decision.what == Decision::What::drop)
      throw std::logic_error("a consistency policy drops a push, but none has come");
    return {};
  }
  Next result{.update = decision.all ? WeighedPushes{.pushes = take_all()} : pending_.take(decision)};
  if (options_.decided == Decided::here_for_all) {
    result.decision = UpdateGroup{.version = view.version, .weights = result.update.weights};
    for (const Push& push : result.update.pushes) result.decision->pushes.push_back(push.id());
    if (options_.rule->one_age) {
      std::vector<double>& weights = result.decision->weights;
      weights.resize(result.update.pushes.size(), 1);
      for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] /= divisor_of(result.update.pushes[i], view);
    }
  }
  return result;
}

// Pushes of any version count: those that the first shard took, in its order. A worker that is gone may have
// pushed to that shard only. A push may also come after its group has been applied without it: then it makes
// an update with the next group, or alone. A server that takes over has not heard earlier decisions; it asks
// for each worker's last push in them, which also tells of the pushes before it.
UpdateRule::Next UpdateRule::announced(const ShardView& view, Memory memory) {
  const WorkerClocks& workers = view.clocks;
  const auto may_come = [&](const PushId& id) {
    const WorkerClocks::Worker& worker = workers[index_of(id.worker)];
    return PSIM_PROBE(worker.arrived <= id.number && !worker.gone, "a decision waits for a push");
  };
  const auto is_due = [&](const Announced& group) {
    return group.is_overdue || (std::ranges::none_of(group.decision.pushes, may_come) &&
                                std::ranges::none_of(group.decision.dropped, may_come));
  };
  const std::map<PushId, double> own = own_weights(view, memory);
  Next result;
  std::vector<Push>& pushes = result.update.pushes;
  while (!announced_.empty() && pushes.empty() && is_due(announced_.front())) {
    choose(announced_.front().decision, result.late);
    announced_.pop_front();
    pushes = take_chosen();
  }
  if (pushes.empty()) pushes = take_chosen();
  result.update.weights = weights_of(pushes, own);
  return result;
}

void UpdateRule::choose(const UpdateGroup& decision, std::vector<Push>& late) {
  for (const PushId& id : decision.dropped) {
    for (const Push& push : pending())  // several copies where a repetition counts
      if (push.id() == id) late.push_back(push);
    remove(id);
  }
  for (std::size_t i = 0; i < decision.pushes.size(); ++i) {
    const PushId& id = decision.pushes[i];
    std::int64_t& chosen = chosen_[index_of(id.worker)];
    chosen = std::max(chosen, id.number + 1);
    if (!options_.rule->counts && !decision.is_summary)
      chosen_weights_[id] = decision.weights.empty() ? 1 : decision.weights[i];
  }
  are_behind_ = true;
}

std::vector<Push> UpdateRule::take_chosen() {
  std::vector<Push> result;
  if (!std::exchange(are_behind_, false)) return result;
  for (const Push& push : pending()) {
    if (push.number < chosen_[index_of(push.worker)]) result.push_back(push);
  }
  for (const Push& push : result) remove(push.id());
  std::ranges::stable_sort(result, {}, [](const Push& push) { return std::pair(push.worker, push.number); });
  return result;
}

// The weights that this shard would give to the pending pushes, for pushes of unknown decisions.
std::map<PushId, double> UpdateRule::own_weights(const ShardView& view, Memory memory) const {
  std::map<PushId, double> weights;
  if (options_.rule->counts || pending_.empty()) return weights;
  if (options_.rule->one_age) {
    for (const Push& push : pending()) weights[push.id()] = 1 / divisor_of(push, view);
  }
  for (const Decision::Share& share : options_.rule->policy->on_timer(view, memory).shares) {
    if (share.push >= pending().size()) continue;
    double& weight = weights.try_emplace(pending()[share.push].id(), 1).first->second;
    weight *= share.weight;
  }
  return weights;
}

double UpdateRule::divisor_of(const Push& push, const ShardView& view) const {
  return options_.rule->stale.divisor(view.age_of(push));
}

// Erases a worker's earlier weights: they are not needed again.
std::vector<double> UpdateRule::weights_of(const std::vector<Push>& pushes,
                                           const std::map<PushId, double>& own) {
  if (options_.rule->counts) return {};
  std::vector<double> weights;
  for (const Push& push : pushes) {
    const auto told = chosen_weights_.find(push.id());
    const auto guess = own.find(push.id());
    PSIM_PROBE(told == chosen_weights_.end(), "a shard was not told the weight of a push");
    weights.push_back(told != chosen_weights_.end() ? told->second : guess != own.end() ? guess->second : 1);
    chosen_weights_.erase(chosen_weights_.lower_bound({push.worker, 0}),
                          chosen_weights_.upper_bound(push.id()));
  }
  return weights;
}

bool UpdateRule::stop_waiting(double since) {
  if (announced_.empty() || announced_.front().heard > since) return false;
  announced_.front().is_overdue = true;
  return true;
}

// The first shard's decision may get lost, and both shards may be set back. Workers leave, and return with a
// push for one shard and not for another. So a push says on which version of the first shard it was computed,
// and this server asks for the decision about that version until the decision arrives.
const UpdateRule::FirstDecision* UpdateRule::decision() const {
  const std::optional<std::int64_t> next = least_first_version();
  if (!next) return nullptr;
  const auto known = std::ranges::find(decisions_, *next, &FirstDecision::version);
  return known == decisions_.end() ? nullptr : &*known;
}

// The oldest version of the first shard for which pushes are pending.
std::optional<std::int64_t> UpdateRule::least_first_version() const {
  if (pending_.empty()) return std::nullopt;
  return std::ranges::min_element(pending(), {}, &Push::first_version)->first_version;
}

// The pushes of the workers whose pushes the first shard took. Other pushes replace those of workers that are
// gone, have moved on or came too late here, and those that the first shard no longer knows. The remaining
// pushes of that version are too late.
UpdateRule::Next UpdateRule::like_the_first(const ShardView& view, Memory memory, const Waits& waits) {
  const WorkerClocks& workers = view.clocks;
  const FirstDecision* known = decision();
  const bool by_date = options_.rule->closes_by_date() || !options_.rule->counts;
  if (known == nullptr) return {};
  const bool may_lack = options_.rule->closes_early() || !options_.rule->counts;
  const auto is_here = [this](NodeId node) { return has(node); };
  const bool has_chosen = by_date && !known->workers.empty() && std::ranges::all_of(known->workers, is_here);
  if (!may_lack && !has_chosen && !is_complete(view, memory)) return {};
  const auto is_awaited = [&](NodeId worker) {
    const std::uint32_t w = index_of(worker);
    return !workers[w].gone && last_computed_on_[w] < known->version && !waits(w);
  };
  if (PSIM_PROBE(std::ranges::any_of(known->workers, is_awaited), "a chosen push is not here yet")) return {};
  const std::map<PushId, double> own = own_weights(view, memory);
  std::vector<Push> all = take_all(), others;
  std::ranges::stable_sort(all, {}, &Push::first_version);
  Next result;
  std::vector<Push>& pushes = result.update.pushes;
  const auto is_in = [&](const Push& push) {
    return std::ranges::find(pushes, push.worker, &Push::worker) != pushes.end();
  };
  for (Push& push : all) {
    const bool is_chosen = std::ranges::find(known->workers, push.worker) != known->workers.end();
    (is_chosen && !is_in(push) ? pushes : others).push_back(std::move(push));
  }
  const std::int64_t size =
      by_date && !known->workers.empty() ? std::ssize(known->workers) : options_.rule->group;
  const std::int64_t wanted = std::max(std::ssize(pushes), std::min(size, workers.members()));
  for (Push& push : others) {
    const bool is_over = push.first_version <= known->version;
    if (std::ssize(pushes) < wanted && !is_in(push)) pushes.push_back(std::move(push));
    else if (is_over) result.late.push_back(std::move(push));
    else pending_.add(std::move(push));
  }
  std::ranges::sort(pushes, {}, &Push::worker);
  for (const Push& push : pushes) {
    if (options_.rule->counts) break;
    const auto place = std::ranges::find(known->workers, push.worker) - known->workers.begin();
    const bool is_told = place < std::ssize(known->workers);
    const auto guess = own.find(push.id());
    result.update.weights.push_back(is_told && !known->weights.empty() ? known->weights[place]
                                    : is_told || guess == own.end()    ? 1
                                                                       : guess->second);
  }
  return result;
}

// State that belongs to no values goes to both parts unchanged.
UpdateRule UpdateRule::part(Options options, const std::function<Push(const Push&)>& part_of) const {
  UpdateRule result = *this, fresh(std::move(options));
  std::swap(result.options_, fresh.options_);
  std::swap(result.pending_, fresh.pending_);
  for (const Push& push : pending()) result.pending_.add(part_of(push));
  if (last_computed_on_.size() != fresh.last_computed_on_.size()) {  // only one of them decides
    result.last_computed_on_ = fresh.last_computed_on_;
    result.chosen_ = fresh.chosen_;
    result.are_behind_ = fresh.are_behind_;
  }
  return result;
}

void UpdateRule::was_made_of(std::vector<PushId> pushes, const std::vector<double>& weights) {
  if (options_.decided != Decided::here) last_ = {.pushes = std::move(pushes), .weights = weights};
}

void UpdateRule::hear(const UpdateGroup& decision, double now) {
  if (!options_.rule->drops_stale) return announced_.push_back({decision, now});
  std::erase_if(decisions_, [&](const FirstDecision& other) { return other.version == decision.version; });
  FirstDecision heard{.version = decision.version, .workers = {}, .weights = decision.weights};
  for (const PushId& id : decision.pushes) heard.workers.push_back(id.worker);
  decisions_.push_back(std::move(heard));
  // Each worker waits for every shard before it continues, so the first shard is no further ahead.
  const auto kept = static_cast<std::size_t>(options_.rule->workers) + 2;
  if (decisions_.size() > kept) decisions_.pop_front();
}

std::optional<std::int64_t> UpdateRule::lacks_decision() const {
  if (options_.decided != Decided::elsewhere) return std::nullopt;
  if (!options_.rule->drops_stale)
    return pending_.empty() && announced_.empty() ? std::nullopt : std::optional<std::int64_t>(0);
  return decision() == nullptr ? least_first_version() : std::nullopt;
}

void UpdateRule::forget_others() {
  std::ranges::fill(last_computed_on_, -1);
  PSIM_PROBE(!announced_.empty(), "a new owner forgets decisions that waited for pushes");
  announced_.clear();
  for (const Push& push : pending()) note_version(push);
}

std::uint64_t UpdateRule::bytes() const {
  constexpr std::uint64_t per_count = 8, per_id = 12;
  std::uint64_t bytes = last_.wire_bytes();
  for (const Push& push : pending()) bytes += push.gradient.bytes + per_id;
  for (const FirstDecision& decision : decisions_)
    bytes += per_count + decision.workers.size() * per_id + decision.weights.size() * sizeof(double);
  return bytes;
}

// The chosen pushes in worker order.
WeighedPushes PendingPushes::take(const Decision& decision) {
  std::vector<std::pair<PushId, double>> chosen;
  std::vector<bool> is_chosen(pushes_.size());
  for (const Decision::Share& share : decision.shares) {
    if (share.push >= pushes_.size() || is_chosen[share.push])
      throw std::logic_error("a consistency policy applies a push twice, or one that does not wait");
    if (!(std::isfinite(share.weight) && share.weight >= 0))
      throw std::logic_error("a consistency policy gives a push a weight that is below 0 or not a number");
    is_chosen[share.push] = true;
    chosen.emplace_back(pushes_[share.push].id(), share.weight);
  }
  check_order(is_chosen);
  std::ranges::sort(chosen);
  WeighedPushes result;
  for (const auto& [id, weight] : chosen) {
    result.pushes.push_back(take(std::ranges::find(pushes_, id, &Push::id)));
    result.weights.push_back(weight);
  }
  if (std::ranges::all_of(result.weights, [](double weight) { return weight == 1; })) result.weights.clear();
  return result;
}

// Copies, and servers that take over, count the pushes of a worker: a push may not be applied before an
// earlier push.
void PendingPushes::check_order(const std::vector<bool>& is_chosen) const {
  if (std::ranges::find(is_chosen, false) == is_chosen.end()) return;
  std::map<NodeId, std::int64_t> first_left;
  for (std::size_t i = 0; i < is_chosen.size(); ++i) {
    const Push& push = pushes_[i];
    if (is_chosen[i]) continue;
    const auto [least, is_new] = first_left.try_emplace(push.worker, push.number);
    if (!is_new) least->second = std::min(least->second, push.number);
  }
  for (std::size_t i = 0; i < is_chosen.size(); ++i) {
    const auto left = first_left.find(pushes_[i].worker);
    if (is_chosen[i] && left != first_left.end() && pushes_[i].number > left->second)
      throw std::logic_error("a consistency policy applies a push before an earlier one of its worker");
  }
}

}  // namespace psim
