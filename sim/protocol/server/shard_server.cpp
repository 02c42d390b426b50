#include "sim/protocol/server/shard_server.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace psim {
namespace {

ReplicatedLog::Options log_of(const ShardServer::Options& options) {
  return {.replication = options.replication,
          .resend = options.resend,
          .first_worker = options.state.first_worker,
          .workers = static_cast<std::size_t>(options.state.rule.workers),
          .shows_updates = options.state.rule.drops_stale};
}

bool is_drop(const std::optional<Decision>& decision) {
  return decision && decision->what == Decision::What::drop;
}

}  // namespace

ShardServer::ShardServer(Options options, std::optional<Values> weights, std::size_t count)
    : options_(std::move(options)),
      state_(options_.state, std::move(weights), count),
      copies_(options_.resend.timeout),
      log_(log_of(options_)) {}

ShardServer::ShardServer(Options options, const State& sent)
    : options_(std::move(options)),
      state_(*sent.shard),
      copies_(options_.resend.timeout),
      log_(log_of(options_), extent_of(sent)),
      leads_(false),
      epoch_(sent.log_epoch) {}

void ShardServer::on(const Message& message, double now, Outbox& out) {
  const Push* push = message.as<Push>();
  if (message.epoch != epoch_ || (push != nullptr && !leads_)) {
    if (push != nullptr) out.refused(*push);
    return;  // from before or after this server's ownership
  }
  const std::int64_t slowest = state_.workers.slowest();
  const auto of_primary = [&](const Pull& pull) {
    if (leads_) on_pull(message.from, pull, now, out);
  };
  using Others = Ignore<Join, Start, Leave, LeaveAck, Heartbeat, NewView, AskView, Ready, Report, Assign,
                        Answer, Ack, Restore, Chunk, Activations, Errors, Standing, Regroup, Fetch, Samples,
                        Idle, Piece, RunTask, TaskDone, Returned, PieceGradient>;
  std::visit(Overloaded{[&](const Push& body) { on_push(body, now, out); }, of_primary,
                        [&](const UpdateGroup& body) { on_group(body, now, out); },
                        [&](const Decide& body) { on_decide(message.from, body, out); },
                        [&](const State& body) { on_copy(message.from, body, now, out); },
                        [&](const Call& body) { on_call(message.from, body, now, out); },
                        [&](const Replicate& body) { on_entry(body.entry, out); },
                        [&](const Replicated& body) { on_replicated(message.from, body.entries, now, out); },
                        Others{}},
             message.body);
  // Lost pushes, too, can move the clock for which others wait.
  if (state_.workers.slowest() > slowest) answer_all(now, out);
  check();
}

// ---- Pushes and updates

void ShardServer::on_push(const Push& push, double now, Outbox& out) {
  const std::uint32_t w = state_.index_of(push.worker);
  const WorkerClocks::Worker& worker = state_.workers[w];
  if (worker.gone) return out.refused(push);
  skip_lost(w, push.oldest_resendable, out);
  if (push.number > worker.arrived) {
    if (!early_.keep(w, push)) out.refused(push);  // a copy of it waits already
    return;
  }
  if (push.number < worker.arrived && options_.state.exactly_once) {
    if (options_.confirms) send(push.worker, Ack{push.number, safe_pushes_of(w)}, out);
    return out.duplicate(push);
  }
  read(push, now, out);
  take_early(w, now, out);
}

// A push with keys that are not known here counts as lost; its worker will repeat it, with the keys. From
// here on it has them: nobody else knows the list.
void ShardServer::read(const Push& push, double now, Outbox& out) {
  if (push.gradient.list.signature == 0) return take(push, now, out);
  known_keys_.resize(state_.workers.size(), KeyMemory(options_.state.weights.feature_blocks));
  if (!known_keys_[state_.index_of(push.worker)].reads(push.gradient.list)) return out.refused(push);
  if (push.gradient.list.is_listed()) return take(push, now, out);
  Push whole = push;
  whole.gradient.list_keys();
  take(whole, now, out);
}

// A skipped push already counts.
void ShardServer::take_early(std::uint32_t w, double now, Outbox& out) {
  while (const std::optional<Push> push = early_.take(w, state_.workers[w].arrived)) {
    push->number < state_.workers[w].arrived ? out.refused(*push) : read(*push, now, out);
  }
}

// If every push is replicated, it is logged once it is known whether it completes an update.
void ShardServer::take(const Push& push, double now, Outbox& out) {
  const std::uint32_t w = state_.index_of(push.worker);
  // Otherwise it is applied a second time.
  if (state_.count_arrived(push)) state_.updates.note_version(push);
  state_.policy().note_push(state_.view(now), push, state_.estimates());
  pulls_.note_arrivals(w, state_);
  if (pulls_.is_through(w, state_)) state_.workers.finish(w);
  Known known;
  const bool late = comes_too_late(push) || is_drop(known = wait_for_update(push, now, out));
  if (late) {
    drop(push, out);
    const bool others_have_it =
        !options_.state.rule.drops_stale && state_.decided() == UpdateRule::Decided::here_for_all;
    if (others_have_it) out.announce({.version = version(), .dropped = {push.id()}});
  }
  if (options_.confirms) {
    if (logs_pushes() && !late) log_.next().push = push;
    send(push.worker, Ack{push.number, safe_pushes_of(w)}, out);
  }
  const bool updated = update_if_complete(now, out, late ? Known() : known);
  if (log_.next().push) deliver(log_.append_push(false), out);
  updated || options_.state.rule.asks_all ? answer_all(now, out) : answer(w, now, out);
}

// The push joins those that wait, unless the policy drops it.
ShardServer::Known ShardServer::wait_for_update(const Push& push, double now, Outbox& out) {
  if (const std::optional<Push> before = state_.updates.withdraw_for(push)) drop(*before, out);
  state_.updates.add(push, now);
  if (state_.decided() == UpdateRule::Decided::elsewhere) return {};
  ShardView view = state_.view(now);
  view.came = pending().size() - 1;
  Known known = state_.policy().on_push(view, state_.memory);
  if (!is_drop(known)) return known;
  if (options_.state.rule.gate == Gate::version || state_.updates.count_of(push.worker) > 1)
    throw std::logic_error(
        "a consistency policy drops a push whose worker waits for an update, or has an earlier one there");
  state_.updates.remove_last();
  return known;
}

// Where the first shard decides it also decides which pushes are too stale.
bool ShardServer::comes_too_late(const Push& push) const {
  if (state_.updates.is_late(push, version())) return true;
  const bool decides = state_.decided() != UpdateRule::Decided::elsewhere;
  return decides && options_.state.rule.stale.drops(state_.staleness_of(push));
}

void ShardServer::drop(const Push& push, Outbox& out) {
  state_.count_applied(push.id());
  if (log_.has_copies()) {
    LogEntry& entry = log_.next();
    const bool is_the_logged = entry.push && entry.push->id() == push.id();
    if (is_the_logged) entry.drops_push = true;
    else entry.dropped.push_back(push.id());
  }
  out.dropped(push);
}

// Returns whether that concerns workers whose pull waits.
bool ShardServer::update_if_complete(double now, Outbox& out, const Known& known) {
  if (!update_once(now, out, known)) return false;
  while (update_once(now, out, {})) continue;  // several groups may have waited for one push
  return true;
}

bool ShardServer::update_once(double now, Outbox& out, const Known& known) {
  UpdateRule::Next next = state_.updates.next(
      state_.view(now), state_.memory, [this](std::uint32_t w) { return pulls_.waits_for_others(w, state_); },
      known);
  for (const Push& push : next.late) drop(push, out);
  if (next.update.pushes.empty()) return !next.late.empty();
  if (next.decision) out.announce(std::move(*next.decision));
  update_with(std::move(next.update), now, out);
  return true;
}

// Where only fresh pushes count, nothing is left to wait for after the last version.
std::optional<double> ShardServer::closes_at(double now) const {
  const bool is_over = options_.state.rule.drops_stale && version() >= options_.state.steps;
  return leads_ && !is_over ? state_.updates.closes_at(state_.view(now), state_.memory) : std::nullopt;
}

void ShardServer::close(double now, Outbox& out) {
  const std::optional<double> date = closes_at(now);
  if (!date || *date > now) return;
  if (update_if_complete(now, out)) answer_all(now, out);
  check();
}

// A decision of the first shard, which decides for all.
void ShardServer::on_group(const UpdateGroup& group, double now, Outbox& out) {
  if (!leads_ || state_.decided() != UpdateRule::Decided::elsewhere) return;
  state_.updates.hear(group, now);
  if (update_if_complete(now, out)) answer_all(now, out);
}

// First shard: answers with its last decision, but with no older one. Decisions to come go to all shards
// anyway. Where late pushes count, all decisions so far are each worker's last push in one of them.
void ShardServer::on_decide(NodeId from, const Decide& question, Outbox& out) const {
  if (leads_ && !options_.state.rule.drops_stale) {
    UpdateGroup all{.version = version(), .is_summary = true};
    for (std::uint32_t w = 0; w < state_.workers.size(); ++w) {
      const std::int64_t decided = state_.before_pending(w, state_.workers[w].arrived);
      if (decided > 0) all.pushes.push_back({state_.node_of(w), decided - 1});
    }
    return send(from, std::move(all), out);
  }
  if (!leads_ || (question.version >= version() && version() < options_.state.steps)) return;
  UpdateGroup answer{.version = question.version};
  if (question.version + 1 == version()) {
    answer.pushes = state_.updates.last().pushes;
    answer.weights = state_.updates.last().weights;
  }
  send(from, std::move(answer), out);
}

// ---- Pulls and answers

void ShardServer::on_pull(NodeId from, const Pull& pull, double now, Outbox& out) {
  const std::uint32_t w = state_.index_of(from);
  if (w >= state_.workers.size()) return on_read(from, pull, now, out);
  if (pull.list.signature != 0) {
    asked_keys_.resize(state_.workers.size());
    if (!asked_keys_[w].reads(pull.list)) return;  // as if it were lost: it will come with its keys
  }
  if (!pulls_.put(w, pull, state_)) return;
  state_.updates.begin_first(now);
  reconcile_worker(w, pull, out);
  take_early(w, now, out);
  if (pulls_.is_through(w, state_)) state_.workers.finish(w);
  const bool concerns_all = update_if_complete(now, out) || pulls_.restart_steps(state_, now);
  concerns_all ? answer_all(now, out) : answer(w, now, out);
}

// A node that is not a worker only reads. It is answered at once under every model, and no worker waits for
// it.
void ShardServer::on_read(NodeId from, const Pull& pull, double now, Outbox& out) const {
  Answer answer{.number = pull.number, .answered = pull.answered, .version = version(), .sent_at = now};
  answer.weights.values = state_.snapshot();
  send(from, std::move(answer), out);
}

void ShardServer::answer_all(double now, Outbox& out) {
  pulls_.for_each_waiting(state_, [&](std::uint32_t w) { answer(w, now, out); });
}

void ShardServer::answer(std::uint32_t w, double now, Outbox& out) {
  const Pull* waiting = pulls_.find(w);
  const bool may_show = leads_ && log_.is_safe(w);  // else a crash may undo the last update
  if (!may_show || waiting == nullptr || !Pulls::is_due(w, *waiting, state_, now)) return;
  const Pull& pull = *waiting;
  const WorkerClocks::Worker& worker = state_.workers[w];
  const bool over = Pulls::is_over(pull, state_);
  const bool needed =
      !over || (options_.state.rule.shards_advance_independently && options_.state.shards > 1);
  if (needed && needs_copy(pull) && !find_copy(now, out)) return;
  const NodeId node = state_.node_of(w);
  const std::int64_t skip = state_.workers.to_skip(w);
  if (worker.rejoining && skip == worker.skipped_clocks) is_back(w, out);
  Answer answer{.finished = over,
                .clock = pull.clock,
                .number = pull.number,
                .answered = pull.answered,
                .version = version(),
                .sent_at = now,
                .safe_pushes = safe_pushes_of(w),
                .pushes_here = worker.arrived,
                .skip_clocks = skip,
                .has_push = state_.updates.has(node),
                .slowest = state_.workers.slowest()};
  if (needed) fill(answer, pull);
  answer.weights.keys = pull.keys;
  if (state_.weights.compensates() && needed) {
    state_.weights.was_sent(w, answer.weights.values);
    if (log_.has_copies()) log_.next().shown.push_back({.worker = node});
  }
  pulls_.erase(w);
  send(node, std::move(answer), out);
}

void ShardServer::was_sent_filtered(NodeId worker, const Slice& values) {
  state_.weights.was_sent(state_.index_of(worker), values);
  std::vector<LogEntry::Shown>& shown = log_.next().shown;
  if (!shown.empty() && shown.back().worker == worker) shown.back() = state_.weights.shown_to(worker, values);
}

std::int64_t ShardServer::safe_pushes_of(std::uint32_t worker) const {
  const bool alone = !log_.has_replicas();
  if (!alone && log_.has_pushes()) return log_.committed(worker);
  // Pending pushes exist only here, even if a later push was dropped already.
  return state_.before_pending(worker, alone ? state_.workers[worker].applied : log_.committed(worker));
}

// ---- Workers that go and come

// Handles what a pull tells about its worker: that it has returned, or that pushes are lost that only a
// former owner had. The worker then continues from this server's state.
void ShardServer::reconcile_worker(std::uint32_t w, const Pull& pull, Outbox& out) {
  if (!pull.pushes_sent) {
    // It knows of no push that waits for its group, which may wait for this worker's next one.
    const bool waits_for_own = options_.state.rule.gate == Gate::own;
    pulls_.find(w)->pushes_sent = waits_for_own ? state_.workers[w].applied : state_.workers[w].arrived;
    return;
  }
  skip_lost(w, pull.oldest_resendable, out);
  if (state_.workers.has_skipped(w, pull.skipped_clocks)) is_back(w, out);
}

// Pushes before the oldest one that the worker can send again are lost with a former owner, unless they are
// here.
void ShardServer::skip_lost(std::uint32_t w, std::int64_t oldest_resendable, Outbox& out) {
  if (!state_.workers.skip_to(w, oldest_resendable)) return;
  pulls_.note_arrivals(w, state_);
  if (log_.has_copies()) log_.next().skipped.push_back({state_.node_of(w), oldest_resendable});
  state_.workers.find_slowest();
  tell_membership(w, out);
}

void ShardServer::is_back(std::uint32_t w, Outbox& out) {
  state_.workers.is_back(w);
  if (log_.has_copies())
    log_.next().skipped_clocks.push_back({state_.node_of(w), state_.workers[w].skipped_clocks});
  tell_membership(w, out);
}

void ShardServer::set_members(const std::vector<bool>& members, double now, Outbox& out) {
  std::vector<std::uint32_t> changed;
  for (std::uint32_t w = 0; w < state_.workers.size(); ++w) {
    const WorkerClocks::Worker& worker = state_.workers[w];
    if (worker.gone != members[w]) continue;
    changed.push_back(w);
    if (!worker.gone) {
      pulls_.erase(w);
      while (const std::optional<Push> push = early_.take(w)) out.refused(*push);
    } else if (!options_.state.rule.drops_stale) {
      state_.workers.comes_back(w);
    }
  }
  if (changed.empty()) return;
  state_.workers.set_members(members);
  for (const std::uint32_t w : changed) tell_membership(w, out);
  if (logs_pushes()) {
    log_.next().members = members;
    deliver(log_.append(), out);
  }
  update_if_complete(now, out);
  pulls_.restart_steps(state_, now);
  answer_all(now, out);
  check();
}

}  // namespace psim
