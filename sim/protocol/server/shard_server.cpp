#include "sim/protocol/server/shard_server.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
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

namespace {

bool is_drop(const std::optional<Decision>& decision) {
  return decision && decision->what == Decision::What::drop;
}

}  // namespace

UpdateMaker::Taken UpdateMaker::take(const Push& push) {
  std::optional<Decision> decision;
  if (!comes_too_late(push) && !is_drop(decision = wait_for_update(push)))
    return {.decision = std::move(decision)};
  drop(push);
  const bool others_have_it =
      !state_.options.rule->drops_stale && state_.decided() == UpdateRule::Decided::here_for_all;
  if (PSIM_PROBE(others_have_it, "the other shards hear that the first shard drops a push"))
    shard_.out.announce({.version = state_.version, .dropped = {push.id()}});
  return {.is_dropped = true};
}

// If the first shard decides for all, it also decides which pushes are too stale.
bool UpdateMaker::comes_too_late(const Push& push) const {
  if (state_.updates.is_late(push, state_.version)) return true;
  const bool decides = state_.decided() != UpdateRule::Decided::elsewhere;
  return PSIM_PROBE(decides && state_.options.rule->stale.drops(state_.staleness_of(push)),
                    "a push is too old");
}

// The push joins the waiting pushes, unless the policy drops it.
std::optional<Decision> UpdateMaker::wait_for_update(const Push& push) {
  const std::optional<Push> before = state_.updates.withdraw_for(push);
  if (PSIM_PROBE(before, "a push replaces an earlier push of its worker")) drop(*before);
  state_.updates.add(push, shard_.now);
  if (state_.decided() == UpdateRule::Decided::elsewhere) return {};
  ShardView view = state_.view(shard_.now);
  view.came = state_.updates.pending().size() - 1;
  std::optional<Decision> decision = state_.policy().on_push(view, state_.memory);
  if (!is_drop(decision)) return decision;
  if (state_.options.rule->gate == Gate::version || state_.updates.count_of(push.worker) > 1)
    throw std::logic_error(
        "a consistency policy drops a push whose worker waits for an update, or has an earlier pending push");
  state_.updates.remove_last();
  return decision;
}

void UpdateMaker::drop(const Push& push) {
  state_.count_applied(push.id());
  if (LogEntry* entry = shard_.replication.next_entry()) {
    const bool is_the_logged = entry->push && entry->push->id() == push.id();
    if (is_the_logged) entry->drops_push = true;
    else entry->dropped.push_back(push.id());
  }
  shard_.out.dropped(push);
}

bool UpdateMaker::make_complete(const std::optional<Decision>& on_push) {
  if (!make_next(on_push)) return false;
  while (PSIM_PROBE(make_next({}), "several groups have waited for one push")) continue;
  return true;
}

bool UpdateMaker::make_next(const std::optional<Decision>& on_push) {
  UpdateRule::Next next = state_.updates.next(
      state_.view(shard_.now), state_.memory,
      [this](std::uint32_t w) { return pulls_.waits_for_others(w, state_); }, on_push);
  for (const Push& push : next.late) drop(push);
  if (next.update.pushes.empty()) return PSIM_PROBE(!next.late.empty(), "all pushes of a group are too late");
  if (next.decision) shard_.out.announce(std::move(*next.decision));
  update_with(std::move(next.update));
  return true;
}

void UpdateMaker::update_with(WeighedPushes pushes) {
  expects(!pushes.pushes.empty(), "an update has a push");
  state_.policy().note_update(state_.view(shard_.now), pushes.pushes, state_.own_memory());
  ShardState::Update update = state_.prepare(std::move(pushes));
  for (std::size_t i = 0; i < update.pushes.size(); ++i)
    shard_.out.applied(update.pushes[i], update.staleness[i]);
  if (LogEntry* entry = shard_.replication.next_entry()) {
    const std::span<const double> memory = state_.own_memory();
    entry->memory.assign(memory.begin(), memory.end());
    entry->weights = update.weights;
    shard_.replication.log_update(
        update.pushes, state_, [&] { return state_.sum_of(update); }, shard_.out);
  }
  state_.apply(update, shard_.replication.role().epoch);
  state_.updates.begin(shard_.now);
  shard_.out.updated(state_.version);
}

// ---- Decisions of the first shard

bool UpdateMaker::follow(const UpdateGroup& decision) {
  if (!shard_.replication.leads() || state_.decided() != UpdateRule::Decided::elsewhere) return false;
  state_.updates.hear(decision, shard_.now);
  return make_complete();
}

void UpdateMaker::tell_decision(NodeId from, const Decide& question) const {
  if (!shard_.replication.leads()) return;
  if (!state_.options.rule->drops_stale) {
    UpdateGroup all{.version = state_.version, .is_summary = true};
    for (std::uint32_t w = 0; w < state_.workers.size(); ++w) {
      const std::int64_t decided = state_.before_pending(w, state_.workers[w].arrived);
      if (decided > 0) all.pushes.push_back({state_.node_of(w), decided - 1});
    }
    return shard_.send(from, std::move(all));
  }
  if (question.version >= state_.version && state_.version < state_.options.steps) return;
  UpdateGroup answer{.version = question.version};
  if (PSIM_PROBE(question.version + 1 == state_.version, "a shard asks for the last decision again")) {
    answer.pushes = state_.updates.last().pushes;
    answer.weights = state_.updates.last().weights;
  }
  shard_.send(from, std::move(answer));
}

bool UpdateMaker::ask_for_decision(double timeout) {
  if (!shard_.replication.leads()) return false;
  const std::optional<std::int64_t> version = state_.updates.lacks_decision();
  if (!version || state_.updates.asked() + timeout > shard_.now) return false;
  state_.updates.ask(shard_.now);
  if (PSIM_PROBE(state_.updates.stop_waiting(shard_.now - timeout), "a decision stops waiting"))
    return make_complete();
  if (PSIM_PROBE(!state_.updates.waits_for_pushes(), "a shard asks for a decision that it lacks"))
    shard_.out.send_again({.from = shard_.replication.role().server, .body = Decide{*version}});
  return false;
}

// ---- Tasks

Returned UpdateMaker::call(const Call& call) {
  Returned answer{.task = call.task};
  if (call.function == TaskKind::apply || call.function == TaskKind::update) {
    std::vector<Push> pushes = state_.updates.take_told(call.push);
    if (!pushes.empty()) update_with({std::move(pushes)});
  } else if (call.function == TaskKind::norm) {
    answer.value = state_.weights.sum_of_squares();
  } else {
    state_.change(call.function, call.amount, shard_.replication.role().epoch);
    shard_.out.updated(state_.version);
  }
  return answer;
}

}  // namespace psim
