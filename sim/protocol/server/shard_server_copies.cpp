// A shard's owners and copies: who leads, and how the others follow.
#include <algorithm>
#include <memory>
#include <utility>

#include "sim/protocol/server/shard_server.hpp"

namespace psim {

void ShardServer::lead(NodeId self, const Owner& owner, double now, Outbox& out) {
  options_.id = self;
  const bool is_new_leader = !leads_ || owner.epoch != epoch_;
  leads_ = true;
  epoch_ = owner.epoch;
  if (is_new_leader) {
    begin_to_lead(out);
    state_.updates.begin(now);  // dates are not in the log
  } else {
    log_.lead(epoch_);
  }
  deliver(log_.set_copies(owner, now), out);
  log_.commit();
  answer_all(now, out);
  check();
}

// An answer sent after the last entry of the former owner's log showed that entry's result. This server has
// that result, so it counts as shown to every worker.
void ShardServer::begin_to_lead(Outbox& out) {
  pulls_.clear();
  known_keys_.clear();
  asked_keys_.clear();
  std::vector<std::int64_t> pushes;
  for (std::uint32_t w = 0; w < state_.workers.size(); ++w)
    pushes.push_back(state_.before_pending(w, state_.workers[w].arrived));
  log_.begin(epoch_, std::move(pushes));
  out.promoted();
  for (std::uint32_t w = 0; w < state_.workers.size(); ++w) {
    state_.weights.was_sent(w, state_.snapshot());
    tell_membership(w, out);
  }
  state_.updates.forget_others();
}

void ShardServer::follow(NodeId self, std::uint32_t epoch, NodeId primary, std::optional<NodeId> next) {
  options_.id = self;
  const bool in_step = epoch_ == epoch && (log_.in_step() || leads_);
  copies_.put(-1, nullptr);
  log_.follow(in_step, std::exchange(leads_, false), primary, next);
  pulls_.clear();
  early_.clear();
  epoch_ = epoch;
  if (!log_.has_pushes()) state_.forget_pending();  // it will receive updates only
  check();
}

// A copy decides nothing. It takes entries in order, and none before the state that they change.
void ShardServer::on_entry(const SharedEntry& entry, Outbox& out) {
  if (leads_) return;
  if (const std::optional<NodeId> next = log_.passes_on(*entry)) {
    Message passed_on = to(*next, Replicate{entry});
    out.send(std::move(passed_on));
  }
  if (!log_.in_step()) return;
  for (const SharedEntry& due : log_.take(entry)) state_.apply(*due, log_.extent().epoch);
  send(log_.primary(), Replicated{log_.extent().entries}, out);
}

void ShardServer::on_replicated(NodeId from, std::optional<std::int64_t> entries, double now, Outbox& out) {
  const ReplicatedLog::Confirmed confirmed = log_.confirm(from, entries, now);
  if (confirmed.is_new_replica) out.copied(from);
  deliver(confirmed.deliveries, out);
  if (confirmed.is_known) answer_all(now, out);
}

void ShardServer::deliver(const ReplicatedLog::Deliveries& deliveries, Outbox& out) const {
  for (const ReplicatedLog::Delivery& delivery : deliveries) {
    const Overloaded body_of{[this](ReplicatedLog::WholeState) -> Body { return whole_state(); },
                             [](const auto& body) -> Body { return body; }};
    Message message = to(delivery.to, std::visit(body_of, delivery.what));
    if (delivery.again) out.send_again(std::move(message));
    else out.send(std::move(message));
  }
}

State ShardServer::whole_state() const {
  const auto copy = std::make_shared<ShardState>(state_);
  if (!log_.has_pushes()) copy->forget_pending();
  const auto [epoch, entries] = extent();
  return {
      .version = version(), .log_epoch = epoch, .entries = entries, .shard = copy, .bytes = copy->bytes()};
}

State ShardServer::log_suffix_after(Extent theirs) const {
  const std::optional<std::vector<SharedEntry>> rest = log_.log_suffix_after(theirs);
  if (!rest) return whole_state();
  const auto [epoch, entries] = extent();
  State result{.version = version(), .log_epoch = epoch, .entries = entries};
  for (const SharedEntry& entry : *rest) result.bytes += wire_size(Replicate{entry});
  result.rest = std::make_shared<const std::vector<SharedEntry>>(*rest);
  return result;
}

// Entries of the log that this copy continues; some may have arrived in the usual way.
void ShardServer::take_log_suffix(const std::vector<SharedEntry>& entries) {
  for (const SharedEntry& entry : entries) {
    if (log_.takes(*entry)) state_.apply(*entry, log_.extent().epoch);
  }
  check();
}

std::optional<double> ShardServer::next_resend() const {
  std::optional<double> first = log_.next_resend();
  const double ask = state_.updates.asked() + options_.resend.timeout;
  if (lacks_decision()) first = std::min(first.value_or(ask), ask);
  if (const auto turn = copies_.next_turn(); turn && leads_) first = std::min(first.value_or(*turn), *turn);
  return first;
}

void ShardServer::resend(double now, Outbox& out) {
  const std::optional<std::int64_t> version = lacks_decision();
  if (version && state_.updates.asked() + options_.resend.timeout <= now) {
    state_.updates.ask(now);
    const bool has_waited = state_.updates.stop_waiting(now - options_.resend.timeout);
    if (has_waited && update_if_complete(now, out)) answer_all(now, out);
    if (!has_waited && !state_.updates.waits_for_pushes())
      out.send_again({.from = options_.id, .body = Decide{*version}});
  }
  if (const auto turn = copies_.next_turn(); turn && leads_ && *turn <= now) answer_all(now, out);
  deliver(log_.resend(now), out);
}

}  // namespace psim
