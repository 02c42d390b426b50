// How a shard's replicas come to have what its owner has: a state to begin with, then a log of what the owner
// decides.
#include <algorithm>
#include <utility>

#include "model/mutant.hpp"
#include "sim/protocol/server.hpp"

namespace psim {
namespace {

// A replica answers nobody.
class Silence final : public Outbox {
 public:
  void send(Message) override {}
  void announce(UpdateGroup) override {}
  void applied(const Push&, std::int64_t) override {}
  void dropped(const Push&) override {}
  void duplicate(const Push&) override {}
  void updated(std::int64_t) override {}
};

}  // namespace

void Server::deliver(const ReplicatedLog::Deliveries& deliveries, Outbox& out) const {
  for (const ReplicatedLog::Delivery& delivery : deliveries) {
    const Overloaded body_of{[this](ReplicatedLog::WholeState) -> Body { return state(); },
                             [](const auto& body) -> Body { return body; }};
    Message message = to(delivery.to, std::visit(body_of, delivery.what));
    if (delivery.again) out.send_again(std::move(message));
    else out.send(std::move(message));
  }
}

// The push that has come in last, if it did not come too late.
void Server::log_push(bool updates, Outbox& out) {
  LogEntry& entry = log_.next();
  entry.updates = updates;
  if (entry.push) entry.pushes.push_back(entry.push->id());
  deliver(log_.append(), out);
  if (updates) log_.mark_update();
}

// One update, as its sum. Where replicas have all the pushes, they need no more than word.
std::optional<LogEntry::Sum> Server::log_update(const std::vector<Push>& group,
                                                std::vector<WeightedGradient>& gradients, Outbox& out) {
  if (log_.has_pushes()) {
    // The last push may be one of those that this update leaves behind; then it is logged as such only.
    std::optional<Push>& push = log_.next().push;
    const auto has_it = [&push](const std::vector<Push>& pushes) {
      return std::ranges::find(pushes, push->id(), &Push::id) != pushes.end();
    };
    if (push && !has_it(group) && !has_it(pending())) push.reset();
    for (const Push& waiting : pending()) log_.next().left.push_back(waiting.id());
    log_push(true, out);
    return {};
  }
  LogEntry& entry = log_.next();
  for (const Push& push : group) entry.pushes.push_back(push.id());
  LogEntry::Sum sum = weights_.sum_of(group, gradients);
  sum.version = version_ + 1;
  entry.sum = sum;
  deliver(log_.append(), out);
  log_.mark_update();
  return sum;
}

// Replica: entries are taken in their order, and none before the state that they change.
void Server::on_entry(const SharedEntry& entry, Outbox& out) {
  if (leads_) return;
  if (const std::optional<NodeId> next = log_.passes_on(*entry)) {
    Message passed_on = to(*next, Replicate{entry});
    if (mutant("primary-sends-for-the-chain")) passed_on.from = log_.primary();
    out.send(std::move(passed_on));
  }
  if (!log_.in_step()) return;
  const bool unseen = mutant("confirmed-unseen") && entry->number >= 30;
  if (!unseen) {
    for (const SharedEntry& due : log_.take(entry)) take_entry(*due);
  }
  send(log_.primary(), Replicated{unseen ? entry->number + 1 : log_.extent().entries}, out);
}

// What the primary has decided.
void Server::take_entry(const LogEntry& entry) {
  for (const LogEntry::Shown& shown : entry.shown)
    weights_.was_sent(index_of(shown.worker),
                      shown.filtered.values.values ? shown.filtered.values : snapshot());
  for (const PushId& id : entry.skipped) skip_to(id.number, index_of(id.worker));
  for (const PushId& id : entry.ahead) {
    WorkerClocks::Worker& worker = workers_[index_of(id.worker)];
    worker.ahead = std::max(worker.ahead, id.number);
    worker.behind = false;
  }
  take_ids(entry.dropped);
  if (!entry.members.empty()) workers_.set_members(entry.members);
  if (entry.push) take_logged(*entry.push);
  Silence silence;
  if (entry.updates) update(updates_.take_all(entry.left), silence);
  if (entry.sum) take_sum(entry);
  if (entry.updates || entry.sum) updated_in_ = log_.extent().epoch;
  workers_.find_slowest();
}

void Server::take_sum(const LogEntry& entry) {
  take_ids(entry.pushes);
  const bool skipped = mutant("entry-skipped") && entry.number % 5 == 3;
  const double rate = this->rate() * options_.rule.rate_factor(entry.pushes.size());
  if (!skipped) weights_.apply(*entry.sum, rate);
  if (mutant("replica-diverges")) weights_.spoil();
  applied_ += static_cast<std::int64_t>(entry.pushes.size());
  ++version_;
  updates_.was_made_of(entry.pushes);
}

void Server::take_logged(const Push& push) {
  count_arrived(push);
  updates_.add(push, 0);
}

// Applied, or dropped.
void Server::take_ids(const std::vector<PushId>& ids) {
  for (const PushId& id : ids) {
    workers_.raise_applied(index_of(id.worker), id.number);
    updates_.remove(id);
  }
}

void Server::on_replicated(NodeId from, std::optional<std::int64_t> entries, double now, Outbox& out) {
  const ReplicatedLog::Confirmed confirmed = log_.confirm(from, entries, now);
  if (confirmed.is_new_replica) out.copied(from);
  deliver(confirmed.deliveries, out);
  if (confirmed.is_known) answer_all(now, out);
}

std::int64_t Server::committed_of(std::uint32_t worker) const {
  const bool alone = !log_.has_replicas() || mutant("told-too-early");
  if (!alone && log_.has_pushes()) return log_.committed(worker);
  return before_pending(worker, alone ? workers_[worker].applied : log_.committed(worker));
}

// What waits for its group is only here, though a later push may have been dropped already.
std::int64_t Server::before_pending(std::uint32_t worker, std::int64_t pushes) const {
  return updates_.least_of(options_.first_worker + worker, pushes);
}

std::optional<double> Server::next_resend() const {
  std::optional<double> first = log_.next_resend();
  const double ask = updates_.asked() + options_.resend.timeout;
  if (lacks_decision()) first = std::min(first.value_or(ask), ask);
  return first;
}

void Server::resend(double now, Outbox& out) {
  ask_for_decision(now, out);
  deliver(log_.resend(now), out);
}

}  // namespace psim
