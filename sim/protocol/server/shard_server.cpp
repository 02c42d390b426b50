#include "sim/protocol/server/shard_server.hpp"

#include <algorithm>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {

ShardServer::ShardServer(const Options& options, ShardState state, Replication replication)
    : state_(std::move(state)),
      replication_(std::move(replication)),
      intake_(options.confirms),
      desk_(WorkerCopies(options.confirms && state_.options.weights.sum_only, options.resend.timeout)),
      resend_after_(options.resend.timeout),
      checked_(options.checked) {}

ShardServer::ShardServer(const Options& options, std::optional<Values> weights, std::size_t count)
    : ShardServer(options, ShardState(options.state, std::move(weights), count),
                  Replication(options.replication, options.resend, options.state, options.id)) {}

ShardServer::ShardServer(const Options& options, const State& sent)
    : ShardServer(options, *sent.shard,
                  Replication(options.replication, options.resend, sent.shard->options, options.id,
                              extent_of(sent))) {}

void ShardServer::on(const Message& message, double now, Outbox& out) {
  const Push* push = message.as<Push>();
  if (message.epoch != epoch() || (push != nullptr && !leads())) {
    PSIM_PROBE(message.epoch < epoch(), "a message belongs to an earlier ownership");
    if (push != nullptr) out.refused(*push);
    return;  // from before or after this server's ownership
  }
  const ShardContext shard = context(now, out);
  const std::int64_t slowest = state_.workers.slowest();
  using Others = Ignore<Join, Start, Leave, LeaveAck, Heartbeat, NewView, AskView, Ready, Report, Assign,
                        Answer, Ack, Restore, Chunk, Activations, Errors, Standing, Regroup, Fetch, Samples,
                        Idle, Piece, RunTask, TaskDone, Returned, PieceGradient>;
  const Overloaded take_body{
      [&](const Push& sent_push) { on_push(sent_push, shard); },
      [&](const Pull& pull) {
        if (leads()) on_pull(message.from, pull, shard);
      },
      [&](const UpdateGroup& decision) {
        if (updates(shard).follow(decision)) desk_.answer_all(shard);
      },
      [&](const Decide& question) { updates(shard).tell_decision(message.from, question); },
      [&](const State& copy) {
        if (desk_.copies().take(message.from, copy, shard)) desk_.answer_all(shard);
      },
      [&](const Call& call) { shard.send(message.from, updates(shard).call(call)); },
      [&](const Replicate& next) { replication_.take(next.entry, state_, out); },
      [&](const Replicated& confirmed) {
        if (replication_.confirm(message.from, confirmed.entries, state_, now, out)) desk_.answer_all(shard);
      },
      Others{}};
  std::visit(take_body, message.body);
  // Lost pushes can also move the clock that other workers wait for.
  if (state_.workers.slowest() > slowest) desk_.answer_all(shard);
  check();
}

// ---- Pushes

void ShardServer::on_push(const Push& push, const ShardContext& shard) {
  const std::uint32_t w = state_.index_of(push.worker);
  expects(w < state_.workers.size(), "only workers push");
  if (PSIM_PROBE(state_.workers[w].gone, "a worker that is gone pushes")) return shard.out.refused(push);
  desk_.skip_lost(w, push.oldest_resendable, shard);
  if (!intake_.is_next(push, shard)) return;
  read(push, shard);
  take_early(w, shard);
}

void ShardServer::read(const Push& push, const ShardContext& shard) {
  if (const std::optional<Push> whole = intake_.read(push, shard)) take(*whole, shard);
}

void ShardServer::take_early(std::uint32_t w, const ShardContext& shard) {
  while (const std::optional<Push> push = intake_.take_early(w, shard)) read(*push, shard);
}

// If every push is replicated, the push is logged when it is known whether it completes an update.
void ShardServer::take(const Push& push, const ShardContext& shard) {
  const std::uint32_t w = state_.index_of(push.worker);
  // Otherwise it is applied a second time.
  if (state_.count_arrived(push)) state_.updates.note_version(push);
  state_.policy().note_push(state_.view(shard.now), push, state_.estimates());
  desk_.note_arrivals(w, state_);
  desk_.note_finished(w, state_);
  UpdateMaker maker = updates(shard);
  const UpdateMaker::Taken taken = maker.take(push);
  if (intake_.confirms() && !taken.is_dropped) {
    if (LogEntry* entry = replication_.next_entry_of_push()) entry->push = push;
  }
  intake_.confirm(push, shard);
  const bool updated = maker.make_complete(taken.decision);
  replication_.log_push(state_, shard.out);
  updated || state_.options.rule->asks_all ? desk_.answer_all(shard) : desk_.answer(w, shard);
}

// ---- Pulls

void ShardServer::on_pull(NodeId from, const Pull& pull, const ShardContext& shard) {
  const std::uint32_t w = state_.index_of(from);
  if (w >= state_.workers.size()) return PullDesk::answer_reader(from, pull, shard);
  if (!desk_.put(w, pull, state_)) return;
  state_.updates.begin_first(shard.now);
  desk_.reconcile(w, pull, shard);
  take_early(w, shard);
  desk_.note_finished(w, state_);
  const bool concerns_all = updates(shard).make_complete() || desk_.restart_steps(shard);
  concerns_all ? desk_.answer_all(shard) : desk_.answer(w, shard);
}

void ShardServer::was_sent_filtered(NodeId worker, const Slice& values) {
  state_.weights.was_sent(state_.index_of(worker), values);
  LogEntry* entry = replication_.next_entry();
  if (entry == nullptr || entry->shown.empty() || entry->shown.back().worker != worker) return;
  entry->shown.back() = state_.weights.shown_to(worker, values);
}

// ---- Workers that go and come

void ShardServer::set_members(const std::vector<bool>& members, double now, Outbox& out) {
  const ShardContext shard = context(now, out);
  std::vector<std::uint32_t> changed;
  for (std::uint32_t w = 0; w < state_.workers.size(); ++w) {
    const WorkerClocks::Worker& worker = state_.workers[w];
    if (worker.gone != members[w]) continue;
    changed.push_back(w);
    if (!worker.gone) {
      PSIM_PROBE(state_.updates.has(state_.node_of(w)), "a worker goes while its push waits");
      PSIM_PROBE(desk_.pulls().find(w) != nullptr, "a worker goes while its pull waits");
      desk_.erase(w);
      intake_.refuse_early(w, out);
    } else if (PSIM_PROBE(!state_.options.rule->drops_stale, "a worker takes part again")) {
      state_.workers.comes_back(w);
    }
  }
  if (changed.empty()) return;
  state_.workers.set_members(members);
  for (const std::uint32_t w : changed) shard.tell_membership(w);
  replication_.log_members(members, state_, out);
  updates(shard).make_complete();
  desk_.restart_steps(shard);
  desk_.answer_all(shard);
  check();
}

// ---- Dates

// Where only fresh pushes count, a server waits for no pushes after the last version.
std::optional<double> ShardServer::closes_at(double now) const {
  const bool is_over = state_.options.rule->drops_stale && version() >= state_.options.steps;
  return leads() && !is_over ? state_.updates.closes_at(state_.view(now), state_.memory) : std::nullopt;
}

void ShardServer::close(double now, Outbox& out) {
  const std::optional<double> date = closes_at(now);
  if (!date || *date > now) return;
  const ShardContext shard = context(now, out);
  if (updates(shard).make_complete()) desk_.answer_all(shard);
  check();
}

std::optional<double> ShardServer::next_resend() const {
  std::optional<double> first = log().next_resend();
  const auto consider = [&first](double date) { first = std::min(first.value_or(date), date); };
  if (leads() && state_.updates.lacks_decision()) consider(state_.updates.asked() + resend_after_);
  if (const auto turn = desk_.copies().next_turn(); turn && leads()) consider(*turn);
  return first;
}

void ShardServer::resend(double now, Outbox& out) {
  const ShardContext shard = context(now, out);
  if (updates(shard).ask_for_decision(resend_after_)) desk_.answer_all(shard);
  if (const auto turn = desk_.copies().next_turn(); turn && leads() && *turn <= now) desk_.answer_all(shard);
  replication_.resend(state_, now, out);
}

// ---- Owners and copies

void ShardServer::lead(NodeId self, const Owner& owner, double now, Outbox& out) {
  expects(owner.primary == self, "a server leads the shards that it owns");
  const ShardContext shard = context(now, out);
  if (replication_.lead(self, owner.epoch, state_)) begin_to_lead(shard);
  replication_.set_copies(owner, state_, now, out);
  desk_.answer_all(shard);
  check();
}

// An answer after the last entry of the former owner's log contained that entry's result. This server has
// that result, so it counts as sent to every worker.
void ShardServer::begin_to_lead(const ShardContext& shard) {
  PSIM_PROBE(!state_.updates.pending().empty(), "a new owner has pushes that wait");
  desk_.clear();
  intake_.forget_keys();
  shard.out.promoted();
  for (std::uint32_t w = 0; w < state_.workers.size(); ++w) {
    state_.weights.was_sent(w, state_.snapshot());
    shard.tell_membership(w);
  }
  state_.updates.forget_others();
  state_.updates.begin(shard.now);  // dates are not in the log
}

void ShardServer::follow(NodeId self, std::uint32_t epoch, NodeId primary, std::optional<NodeId> next) {
  replication_.follow(self, epoch, primary, next);
  desk_.copies().forget();
  desk_.clear();
  intake_.clear_early();
  if (!log().has_pushes()) state_.forget_pending();  // this server will receive updates only
  check();
}

void ShardServer::take_log_suffix(const std::vector<SharedEntry>& entries) {
  replication_.take_log_suffix(entries, state_);
  check();
}

}  // namespace psim
