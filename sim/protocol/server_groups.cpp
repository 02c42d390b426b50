// Which pushes make an update, and, where the first shard decides that for all, how the others hear of it.
#include <algorithm>
#include <tuple>
#include <utility>

#include "model/mutant.hpp"
#include "sim/protocol/server.hpp"

namespace psim {

// The last groups are smaller: a group is complete as well when nobody is left who could push into it,
// because a worker is through, or waits for its own push to be applied.
bool Server::is_complete() const {
  if (options_.clock_samples > 0) return samples_of(group_) >= options_.clock_samples;
  const std::int64_t whole = options_.rule.group - (mutant("small-group") ? 1 : 0);
  const bool some_gone = workers_.members() < options_.rule.workers;
  const auto of_members = [this](const Push& push) { return !workers_[index_of(push.worker)].gone; };
  // Where all take part, a push of a worker that has gone since is taken, but in nobody else's place.
  const auto here =
      options_.rule.waits_for_all() ? std::ranges::count_if(group_, of_members) : std::ssize(group_);
  if (here >= (some_gone ? std::min(whole, workers_.members()) : whole)) return true;
  if (group_.empty() || options_.rule.fresh) return false;
  std::int64_t may_push = workers_.will_push();
  if (options_.rule.gate == Gate::own) {
    may_push -= std::ranges::count_if(
        group_, [this](const Push& push) { return !workers_[index_of(push.worker)].finished; });
  }
  return may_push == 0;
}

// Sums run in worker order, never in order of arrival.
std::vector<Push> Server::take_pending() {
  std::vector<Push> group = std::exchange(group_, {});
  std::ranges::stable_sort(group, {}, [](const Push& m) {
    return std::tuple(mutant("sums-in-order-of-arrival") ? 0 : m.worker,
                      mutant("sums-in-order-of-arrival") ? 0 : m.number);
  });
  return group;
}

// Pushes of the next update, when they are all in, in worker order.
std::vector<Push> Server::take_group(Outbox& out) {
  if (follows()) return options_.retries ? take_decided(out) : take_announced();
  if (!is_complete()) return {};
  std::vector<Push> group = take_pending();
  if (coordinated()) announce(group, out);
  return group;
}

void Server::announce(const std::vector<Push>& group, Outbox& out) {
  UpdateGroup message{.version = version_, .late = std::exchange(late_, {})};
  for (const Push& push : group) message.pushes.push_back(push.id());
  out.announce(std::move(message));
}

std::vector<Push> Server::take_announced() {
  if (announced_.empty()) return {};
  std::vector<Push> group;
  for (const PushId& id : announced_.front()) {
    const auto push = std::ranges::find(group_, id, &Push::id);
    if (push == group_.end()) return {};
    group.push_back(*push);
  }
  std::erase_if(group_, [&](const Push& push) {
    return std::ranges::find(announced_.front(), push.id()) != announced_.front().end();
  });
  announced_.pop_front();
  return group;
}

void Server::on_group(const UpdateGroup& group, double now, Outbox& out) {
  if (options_.retries) return on_decision(group, now, out);
  announced_.push_back(group.pushes);
  for (const PushId& id : group.late) {
    const auto push = std::ranges::find(group_, id, &Push::id);
    if (push == group_.end()) {
      late_.push_back(id);
    } else {
      drop(*push, out);
      group_.erase(push);
    }
  }
  if (update_if_complete(out)) answer_all(now, out);
}

// Where nodes may fail the first shard's word may get lost, it may be set back, and so may this one; workers
// go, and come back with a push for one shard and not for another. So a push says which version of the first
// shard it was computed on, and the decision about that version is asked for until it is here.
const Server::Decision* Server::decision() const {
  const Decision* latest = nullptr;
  for (const Push& push : group_) {
    const auto known = std::ranges::find(decisions_, push.first_version, &Decision::version);
    if (known != decisions_.end() && (latest == nullptr || latest->version < known->version))
      latest = &*known;
  }
  return latest;
}

// The same workers' pushes as the first shard took; in the place of those that are gone, that came too late
// here, or that it no longer knows, others'. The rest comes too late.
std::vector<Push> Server::take_decided(Outbox& out) {
  const Decision* known = decision();
  if (known == nullptr) return {};
  if (!is_complete()) return {};
  const auto is_awaited = [&](NodeId worker) {
    const std::uint32_t w = index_of(worker);
    return !workers_[w].gone && computed_on_[w] < known->version && !waits_for_others(w);
  };
  const std::vector<NodeId>& workers = known->workers;
  if (std::ranges::any_of(workers, is_awaited)) return {};
  std::vector<Push> pending = take_pending();
  const auto rest = std::ranges::stable_partition(
      pending, [&](const Push& push) { return std::ranges::find(workers, push.worker) != workers.end(); });
  const auto chosen = std::ssize(pending) - std::ssize(rest);
  const auto wanted =
      static_cast<std::size_t>(std::max(chosen, std::min(options_.rule.group, workers_.members())));
  for (std::size_t i = wanted; i < pending.size(); ++i) drop(pending[i], out);
  pending.resize(std::min(wanted, pending.size()));
  std::ranges::sort(pending, {}, &Push::worker);
  return pending;
}

void Server::on_decision(const UpdateGroup& group, double now, Outbox& out) {
  if (!leads_ || !follows()) return;
  std::erase_if(decisions_, [&](const Decision& other) { return other.version == group.version; });
  Decision decision{.version = group.version, .workers = {}};
  for (const PushId& id : group.pushes) decision.workers.push_back(id.worker);
  decisions_.push_back(std::move(decision));
  constexpr std::size_t kept = 4;  // a worker is at most one version behind, unless shards were set back
  if (decisions_.size() > kept) decisions_.pop_front();
  if (update_if_complete(out)) answer_all(now, out);
}

bool Server::lacks_decision() const {
  return options_.retries && leads_ && follows() && !group_.empty() && decision() == nullptr;
}

void Server::ask_for_decision(double now, Outbox& out) {
  if (!lacks_decision() || asked_decision_ + options_.resend.timeout > now) return;
  asked_decision_ = now;
  const std::int64_t version = std::ranges::min_element(group_, {}, &Push::first_version)->first_version;
  out.send_again({.from = options_.id, .body = Decide{version}});
}

// First shard: what it has decided last, and nothing of what is longer ago; what is still to be decided it
// will tell everybody.
void Server::on_decide(NodeId from, const Decide& question, Outbox& out) const {
  if (!leads_ || (question.version >= version_ && version_ < options_.steps)) return;
  UpdateGroup answer{.version = question.version};
  if (question.version + 1 == version_) answer.pushes = last_group_;
  send(from, std::move(answer), out);
}

}  // namespace psim
