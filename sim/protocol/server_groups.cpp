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
  const bool some_gone = members_ < options_.rule.workers;
  const auto of_members = [this](const Message& push) { return !workers_[index_of(push.from)].gone; };
  // Where all take part, a push of a worker that has gone since is taken, but in nobody else's place.
  const auto here =
      options_.rule.waits_for_all() ? std::ranges::count_if(group_, of_members) : std::ssize(group_);
  if (here >= (some_gone ? std::min(whole, members_) : whole)) return true;
  if (group_.empty() || options_.rule.fresh) return false;
  std::int64_t may_push = active_;
  if (options_.rule.gate == Gate::own) {
    may_push -= std::ranges::count_if(
        group_, [this](const Message& push) { return !workers_[index_of(push.from)].finished; });
  }
  return may_push == 0;
}

// Sums run in worker order, never in order of arrival.
std::vector<Message> Server::take_pending() {
  std::vector<Message> group = std::exchange(group_, {});
  std::ranges::stable_sort(group, {}, [](const Message& m) {
    return std::tuple(mutant("sums-in-order-of-arrival") ? 0 : m.from,
                      mutant("sums-in-order-of-arrival") ? 0 : m.number);
  });
  return group;
}

// Pushes of the next update, when they are all in, in worker order.
std::vector<Message> Server::take_group(Outbox& out) {
  if (follows()) return options_.retries ? take_decided(out) : take_announced();
  if (!is_complete()) return {};
  std::vector<Message> group = take_pending();
  if (coordinated()) announce(group, out);
  return group;
}

// What made the update of `version`, and what came too late for it.
Message Server::group_message(std::int64_t version, Attachment ids) const {
  return {.kind = MessageKind::group,
          .from = options_.id,
          .shard = options_.shard,
          .version = version,
          .epoch = epoch_,
          .attached = std::make_shared<const Attachment>(std::move(ids))};
}

void Server::announce(const std::vector<Message>& group, Outbox& out) {
  Attachment ids{.late = std::exchange(late_, {})};
  for (const Message& push : group) ids.group.push_back(id_of(push));
  out.announce(group_message(version_, std::move(ids)));
}

std::vector<Message> Server::take_announced() {
  if (announced_.empty()) return {};
  std::vector<Message> group;
  for (const PushId& id : announced_.front()) {
    const auto push = std::ranges::find(group_, id, id_of);
    if (push == group_.end()) return {};
    group.push_back(*push);
  }
  std::erase_if(group_, [&](const Message& m) {
    return std::ranges::find(announced_.front(), id_of(m)) != announced_.front().end();
  });
  announced_.pop_front();
  return group;
}

void Server::on_group(const Message& group, double now, Outbox& out) {
  if (options_.retries) return on_decision(group, now, out);
  announced_.push_back(group.attached->group);
  for (const PushId& id : group.attached->late) {
    const auto push = std::ranges::find(group_, id, id_of);
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
  for (const Message& push : group_) {
    const auto known = std::ranges::find(decisions_, push.pushed, &Decision::version);
    if (known != decisions_.end() && (latest == nullptr || latest->version < known->version))
      latest = &*known;
  }
  return latest;
}

// The same workers' pushes as the first shard took; in the place of those that are gone, that came too late
// here, or that it no longer knows, others'. The rest comes too late.
std::vector<Message> Server::take_decided(Outbox& out) {
  const Decision* known = decision();
  if (known == nullptr) return {};
  if (!is_complete()) return {};
  const auto is_awaited = [&](NodeId worker) {
    const std::uint32_t w = index_of(worker);
    return !workers_[w].gone && safety_[w].first < known->version && !waits_for_others(w);
  };
  const std::vector<NodeId>& workers = known->workers;
  if (std::ranges::any_of(workers, is_awaited)) return {};
  std::vector<Message> pending = take_pending();
  const auto rest = std::ranges::stable_partition(
      pending, [&](const Message& push) { return std::ranges::find(workers, push.from) != workers.end(); });
  const auto chosen = std::ssize(pending) - std::ssize(rest);
  const auto wanted = static_cast<std::size_t>(std::max(chosen, std::min(options_.rule.group, members_)));
  for (std::size_t i = wanted; i < pending.size(); ++i) drop(pending[i], out);
  pending.resize(std::min(wanted, pending.size()));
  std::ranges::sort(pending, {}, &Message::from);
  return pending;
}

void Server::on_decision(const Message& word, double now, Outbox& out) {
  if (!leads_ || !follows()) return;
  std::erase_if(decisions_, [&](const Decision& other) { return other.version == word.version; });
  Decision decision{.version = word.version, .workers = {}};
  for (const PushId& id : word.attached->group) decision.workers.push_back(id.worker);
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
  out.send_again({.kind = MessageKind::decide,
                  .from = options_.id,
                  .shard = 0,
                  .version = std::ranges::min_element(group_, {}, &Message::pushed)->pushed});
}

// First shard: what it has decided last, and nothing of what is longer ago; what is still to be decided it
// will tell everybody.
void Server::on_decide(const Message& question, Outbox& out) const {
  if (!leads_ || (question.version >= version_ && version_ < options_.steps)) return;
  Attachment ids;
  if (question.version + 1 == version_) ids.group = last_group_;
  Message answer = group_message(question.version, std::move(ids));
  answer.to = question.from;
  out.send(std::move(answer));
}

}  // namespace psim
