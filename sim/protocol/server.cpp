#include "sim/protocol/server.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "model/mutant.hpp"

namespace psim {

Server::Server(Options options, std::optional<Values> weights, std::size_t count)
    : options_(std::move(options)),
      weights_(options_.weights, static_cast<std::size_t>(options_.rule.workers), std::move(weights), count),
      workers_(static_cast<std::size_t>(options_.rule.workers)),
      updates_({.rule = options_.rule,
                .decided = decided(),
                .first_worker = options_.first_worker,
                .clock_samples = options_.clock_samples}),
      gate_(options_.rule),
      range_clock_(count, workers_.size()),
      log_({.replication = options_.replication,
            .resend = options_.resend,
            .first_worker = options_.first_worker,
            .workers = workers_.size(),
            .shows_updates = options_.rule.fresh}) {}

void Server::on(const Message& message, double now, Outbox& out) {
  const Push* push = message.as<Push>();
  if ((message.epoch != epoch_ && !mutant("no-fence")) || (push != nullptr && !leads_)) {
    if (push != nullptr) out.refused(*push);
    return;  // from before the shard had this owner, or from after it
  }
  const auto of_primary = [&](const Pull& pull) {
    if (leads_) on_pull(message.from, pull, now, out);
  };
  using Others = Ignore<Join, Start, Leave, LeaveAck, Heartbeat, NewView, AskView, Ready, Report, Assign,
                        Answer, Ack, State, Restore, Chunk, Activations, Errors, Fetch, Samples, Idle, Piece>;
  std::visit(Overloaded{[&](const Push& body) { on_push(body, now, out); }, of_primary,
                        [&](const UpdateGroup& body) { on_group(body, now, out); },
                        [&](const Decide& body) { on_decide(message.from, body, out); },
                        [&](const Replicate& body) { on_entry(body.entry, out); },
                        [&](const Replicated& body) { on_replicated(message.from, body.entries, now, out); },
                        Others{}},
             message.body);
}

Message Server::to(NodeId node, Body body) const {
  return {.from = options_.id, .to = node, .shard = options_.shard, .epoch = epoch_, .body = std::move(body)};
}

// Pushes of a worker are taken in its order, each once, though a small one may overtake a large one on its
// way.
void Server::on_push(const Push& push, double now, Outbox& out) {
  const std::uint32_t w = index_of(push.worker);
  const WorkerClocks::Worker& worker = workers_[w];
  if (worker.gone) return out.refused(push);
  skip_lost(w, push.oldest_resendable, out);
  if (push.number > worker.arrived) {
    if (!early_.try_emplace({w, push.number}, push).second) out.refused(push);  // it waits here already
    return;
  }
  if (push.number < worker.arrived && options_.exactly_once && !mutant("applied-again")) {
    if (options_.confirms) acknowledge(push, out);
    return out.duplicate(push);
  }
  take(push, now, out);
  take_early(w, now, out);
}

// Those that have come too early and whose turn it is now. One that was skipped counts already.
void Server::take_early(std::uint32_t w, double now, Outbox& out) {
  for (auto next = early_.lower_bound({w, 0});
       next != early_.end() && next->first <= std::pair(w, workers_[w].arrived);
       next = early_.lower_bound({w, 0})) {
    const Push push = std::move(next->second);
    early_.erase(next);
    if (push.number < workers_[w].arrived) out.refused(push);
    else take(push, now, out);
  }
}

void Server::take(const Push& push, double now, Outbox& out) {
  const std::uint32_t w = index_of(push.worker);
  const bool is_next = count_arrived(push);
  gate_.pushed(w, now);
  const bool forgotten = mutant("push-vanishes") && push.number % 7 == 3;
  const bool late = updates_.is_late(push, version_);
  if (is_next) updates_.met(push);  // else it is applied a second time
  if (forgotten) {
    count_applied(push.id());
  } else if (!late) {
    supersede(push, out);
    updates_.add(push, now);
  } else {
    drop(push, out);
  }
  if (options_.confirms) accept(push, late, out);
  finish_if_through(w);
  const bool updated = update_if_complete(out);
  if (log_.next().push) log_push(false, out);
  updated ? answer_all(now, out) : answer(w, now, out);
}

// Whether it is the worker's next one.
bool Server::count_arrived(const Push& push) {
  const std::uint32_t w = index_of(push.worker);
  ++arrived_;
  range_splits_ += range_clock_.set(weights_.range_at(push.clock), w, push.number + 1);
  const bool is_next = push.number >= workers_[w].arrived;
  if (is_next) workers_[w].arrived = push.number + 1;
  return is_next;
}

// A node that is no worker only reads: it is answered at once, whatever the model, and nobody waits for it.
void Server::on_read(NodeId from, const Pull& pull, double now, Outbox& out) const {
  Slice all = snapshot();
  send(from,
       Answer{.number = pull.number,
              .answered = pull.answered,
              .version = version_,
              .sent_at = now,
              .weights = {.values = std::move(all)}},
       out);
}

void Server::on_pull(NodeId from, const Pull& pull, double now, Outbox& out) {
  const std::uint32_t w = index_of(from);
  if (w >= workers_.size()) return on_read(from, pull, now, out);
  const bool is_back = !pull.pushes_sent;  // from a crash: it counts its pulls anew
  const auto before = waiting_.find(w);
  if (!is_back && before != waiting_.end() && before->second.number > pull.number) return;  // overtaken
  waiting_[w] = pull;  // takes the place of an older one
  meet(w, pull, out);
  take_early(w, now, out);
  finish_if_through(w);
  update_if_complete(out) || restart_steps() ? answer_all(now, out) : answer(w, now, out);
}

// Of the first shard, which decides for all.
void Server::on_group(const UpdateGroup& group, double now, Outbox& out) {
  if (!leads_ || decided() != UpdateRule::Decided::elsewhere) return;
  updates_.hear(group);
  if (update_if_complete(out)) answer_all(now, out);
}

bool Server::lacks_decision() const { return leads_ && updates_.lacks_decision(); }

void Server::ask_for_decision(double now, Outbox& out) {
  const std::optional<std::int64_t> version = updates_.lacks_decision();
  if (!leads_ || !version || updates_.asked() + options_.resend.timeout > now) return;
  updates_.ask(now);
  out.send_again({.from = options_.id, .body = Decide{*version}});
}

// First shard: what it has decided last, and nothing of what is longer ago; what is still to be decided it
// will tell everybody.
void Server::on_decide(NodeId from, const Decide& question, Outbox& out) const {
  if (!leads_ || (question.version >= version_ && version_ < options_.steps)) return;
  UpdateGroup answer{.version = question.version};
  if (question.version + 1 == version_) answer.pushes = updates_.last();
  send(from, std::move(answer), out);
}

void Server::drop(const Push& push, Outbox& out) {
  count_applied(push.id());
  if (log_.has_copies()) log_.next().dropped.push_back(push.id());
  out.dropped(push);
}

bool Server::update_if_complete(Outbox& out) {
  bool updated = false;
  while (update_once(out)) updated = true;  // several groups may have waited for one push
  return updated;
}

bool Server::update_once(Outbox& out) {
  UpdateRule::Next next =
      updates_.next(workers_, version_, [this](std::uint32_t w) { return waits_for_others(w); });
  for (const Push& push : next.late) drop(push, out);
  if (next.pushes.empty()) return false;
  if (next.decision) out.announce(std::move(*next.decision));
  update(next.pushes, out);
  return true;
}

void Server::update(const std::vector<Push>& group, Outbox& out) {
  std::vector<WeightedGradient> gradients;
  const double mean = mean_samples(group);
  const std::size_t pushes = pushes_in(group);
  std::vector<PushId> ids;
  for (const Push& push : group) {
    ids.push_back(push.id());
    const std::int64_t staleness =
        std::max<std::int64_t>(0, version_ - push.version + (mutant("staleness-from-one") ? 1 : 0));
    double weight = options_.rule.push_weight(pushes) * (static_cast<double>(push.samples) / mean);
    if (options_.staleness_aware && staleness > (mutant("slightly-stale-is-fresh") ? 2 : 1))
      weight /= static_cast<double>(staleness);
    gradients.push_back(
        {weights_.gradient_of(push, index_of(push.worker)), weight, push.gradient.keys.get()});
    count_applied(push.id());
    out.applied(push, staleness);
  }
  updates_.was_made_of(std::move(ids));
  const double rate = this->rate() * options_.rule.rate_factor(group.size());
  std::optional<LogEntry::Sum> logged;  // gradients may be a part of it
  if (log_.has_copies()) logged = log_update(group, gradients, out);
  weights_.apply(gradients, rate, group.front().clock);
  applied_ += static_cast<std::int64_t>(group.size());
  version_ += mutant("version-jump") && version_ % 5 == 4 ? 2 : 1;
  updated_in_ = epoch_;
  out.updated(version_);
}

// With work stealing a worker may push twice: all that counts is that a clock is all workers'.
std::size_t Server::pushes_in(const std::vector<Push>& group) const {
  return options_.clock_samples > 0 ? workers_.size() : group.size();
}

// What a push's samples are measured against, so that a clock's update is the mean over its samples: a group
// is a clock where only fresh pushes count; elsewhere a clock is all workers' pushes.
double Server::mean_samples(const std::vector<Push>& group) const {
  if (!options_.rule.fresh && !mutant("weighed-by-the-groups-mean"))
    return static_cast<double>(options_.batch_size);
  return static_cast<double>(samples_of(group)) / static_cast<double>(pushes_in(group));
}

double Server::rate() const {
  const double clocks = options_.rule.fresh
                            ? static_cast<double>(version_)
                            : static_cast<double>(applied_) / static_cast<double>(options_.rule.workers);
  return options_.learning_rate.at(mutant("schedule-by-clocks") ? clocks : options_.epochs.after(clocks));
}

// A push that is applied again counts once.
void Server::count_applied(const PushId& push) {
  const std::uint32_t w = index_of(push.worker);
  if (!options_.exactly_once && push.number < workers_[w].applied) return;
  workers_.count_applied(w);
}

// A worker whose pull is for a clock that there is no more, and whose pushes are all in, will not push again.
void Server::finish_if_through(std::uint32_t w) {
  const WorkerClocks::Worker& worker = workers_[w];
  const auto pull = waiting_.find(w);
  if (options_.rule.fresh || worker.finished || pull == waiting_.end()) return;
  if (pull->second.clock < options_.steps || worker.arrived < pull->second.pushes_sent.value_or(0)) return;
  workers_.finish(w);
}

bool Server::is_over(const Pull& pull) const {
  return options_.rule.fresh ? version_ >= options_.steps : pull.clock >= options_.steps;
}

bool Server::may_start(std::uint32_t w, const Pull& pull, double now) {
  if (version_ <= pull.above && !has_lost_push(w, pull) && !mutant("old-version")) return false;
  return gate_.may_start(w, pull.clock, pull.pushes_sent.value_or(0), workers_, now);
}

void Server::was_sent_filtered(NodeId worker, const Slice& values) {
  weights_.was_sent(index_of(worker), values);
  std::vector<LogEntry::Shown>& shown = log_.next().shown;
  const bool is_last = !shown.empty() && shown.back().worker == worker;
  if (is_last) shown.back() = weights_.shown_to(worker, values);
}

void Server::answer_all(double now, Outbox& out) {
  for (auto w = waiting_.begin(); w != waiting_.end();) answer(w++->first, now, out);
}

void Server::answer(std::uint32_t w, double now, Outbox& out) {
  const auto waiting = waiting_.find(w);
  if (!leads_ || waiting == waiting_.end()) return;
  const WorkerClocks::Worker& worker = workers_[w];
  const Pull& pull = waiting->second;
  const bool over = is_over(pull);
  // What is still on its way to a shard with all its updates will come too late, if it is taken at all.
  const bool reads_all = over && options_.rule.fresh;
  const std::int64_t sent = pull.pushes_sent.value_or(0);
  if (worker.arrived < sent && !reads_all && !mutant("writes-unseen")) return;  // read-my-writes
  if (!log_.is_safe(w)) return;  // an update that a crash may undo
  // The others' last updates wait for word from the first server.
  if (over && !options_.rule.fresh && decided() != UpdateRule::Decided::here && worker.applied < sent) return;
  if (!over && !may_start(w, pull, now)) return;
  const NodeId node = options_.first_worker + w;
  Answer answer{.finished = over,
                .clock = pull.clock,
                .number = pull.number,
                .answered = pull.answered,
                .version = version_,
                .sent_at = now,
                .safe_pushes = committed_of(w),
                .pushes_here = worker.arrived,
                .skip_clocks = ahead_of(w, out),
                .has_push = updates_.has(node) || mutant("lacks-no-push")};
  const bool needed = !over || (options_.rule.servers_apart && options_.shards > 1);
  if (needed) answer.weights.values = weights_.reply(pull.keys, version_);
  answer.weights.keys = pull.keys;
  if (weights_.compensates() && needed) {
    weights_.was_sent(w, answer.weights.values);
    if (log_.has_copies()) log_.next().shown.push_back({.worker = node});
  }
  waiting_.erase(waiting);
  send(node, std::move(answer), out);
}

}  // namespace psim
