// What a server does where nodes and messages may fail: requests that come twice or not at all, workers that
// go and come, and a change of owner.
#include <algorithm>
#include <utility>

#include "model/mutant.hpp"
#include "sim/protocol/server.hpp"

namespace psim {

// Where an update has one push of each worker: a shard that was set back may have one already, and the worker
// has computed that version again.
void Server::supersede(const Push& push, Outbox& out) {
  if (options_.rule.gate != Gate::version || options_.clock_samples > 0) return;
  if (const std::optional<Push> before = updates_.withdraw_for(push)) drop(*before, out);
}

void Server::acknowledge(const Push& push, Outbox& out) const {
  send(push.worker, Ack{.number = push.number, .safe_pushes = committed_of(index_of(push.worker))}, out);
}

// Where every push is replicated, it is logged when it is known whether it completes an update.
void Server::accept(const Push& push, bool late, Outbox& out) {
  if (logs_pushes() && !late) log_.next().push = push;
  acknowledge(push, out);
}

// Pushes of a worker before `number` will not come.
void Server::skip_to(std::int64_t number, std::uint32_t w) {
  if (workers_.skip_to(w, number) && log_.has_copies())
    log_.next().skipped.push_back({options_.first_worker + w, number});
}

// Pushes before the oldest that the worker can send again are lost with a former owner, if they are not here.
void Server::skip_lost(std::uint32_t w, std::int64_t oldest_resendable, Outbox& out) {
  const std::int64_t arrived = workers_[w].arrived;
  if (oldest_resendable <= arrived) return;
  lost_ += oldest_resendable - arrived;
  skip_to(oldest_resendable, w);
  workers_.find_slowest();
  tell_count(w, out);
}

// A worker that was away goes on from where the others are, and is one of them again.
void Server::catch_up(std::uint32_t w, Outbox& out) {
  WorkerClocks::Worker& worker = workers_[w];
  worker.behind = false;
  worker.told = -1;
  if (log_.has_copies()) log_.next().ahead.push_back({options_.first_worker + w, worker.ahead});
  workers_.find_slowest();
  tell_count(w, out);
}

void Server::refuse_early(std::uint32_t w, Outbox& out) {
  const auto begin = early_.lower_bound({w, 0}), end = early_.lower_bound({w + 1, 0});
  for (auto push = begin; push != end; ++push) out.refused(push->second);
  early_.erase(begin, end);
}

std::vector<Push> Server::early() const {
  std::vector<Push> all;
  for (const auto& [id, push] : early_) all.push_back(push);
  return all;
}

// How many clocks a worker is to skip. It numbers its pushes without them, so that none is missing; an answer
// that it does not get is given again, and of several shards' it takes the greatest.
std::int64_t Server::ahead_of(std::uint32_t w, Outbox& out) {
  WorkerClocks::Worker& worker = workers_[w];
  if (!worker.behind) return worker.ahead;
  worker.told = workers_.slowest() - worker.arrived;
  if (worker.told > worker.ahead) return worker.told;
  catch_up(w, out);
  return worker.ahead;
}

// Whether nothing that a worker has sent brings the version that it waits for: the shard was set back, or
// forgot the push that the worker computed on this version. Any version will do then. Where an update does
// not wait for all, a worker whose step was cancelled waits for the others' pushes.
bool Server::has_lost_push(std::uint32_t worker, const Pull& pull) const {
  if (pull.above < 0) return false;
  if (pull.above > version_) return true;
  return options_.rule.waits_for_all() && !pull.computes && !updates_.has(options_.first_worker + worker);
}

// Whether a worker has sent all that it will send before this shard has another version.
bool Server::waits_for_others(std::uint32_t w) const {
  const auto pull = waiting_.find(w);
  return pull != waiting_.end() && pull->second.above >= version_ && !pull->second.computes &&
         pull->second.pushes_sent.value_or(0) <= workers_[w].arrived;
}

// Whether every worker that takes part has its push here, or waits for the next version.
bool Server::none_will_push() const {
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    if (!workers_[w].gone && !updates_.has(options_.first_worker + w) && !waits_for_others(w)) return false;
  }
  return true;
}

// Where an update does not wait for all, workers whose steps were cancelled may wait for others' pushes that
// are lost. When too few are left that could push, those that wait compute this version again.
bool Server::restart_steps() {
  const ConsistencyRule& rule = options_.rule;
  const bool some_wait = rule.gate == Gate::version && !rule.waits_for_all();
  if (!some_wait || waiting_.empty() || updates_.is_complete(workers_) || !none_will_push()) return false;
  for (auto& [worker, pull] : waiting_) {
    if (!updates_.has(options_.first_worker + worker)) pull.above = -1;
  }
  return true;
}

// What a pull tells about its worker: that it has come back, or that pushes are lost that only a former owner
// had. It then goes on from what is here.
void Server::meet(std::uint32_t w, const Pull& pull, Outbox& out) {
  WorkerClocks::Worker& worker = workers_[w];
  if (!pull.pushes_sent) {
    waiting_.at(w).pushes_sent = worker.arrived;
    return;
  }
  skip_lost(w, pull.oldest_resendable, out);
  const bool goes_on = pull.skipped_clocks > worker.ahead;
  const bool has_heard = worker.told >= 0 && pull.skipped_clocks >= worker.told;
  worker.ahead = std::max(worker.ahead, pull.skipped_clocks);
  if (worker.behind ? has_heard : goes_on) catch_up(w, out);
}

void Server::tell_count(std::uint32_t w, Outbox& out) const {
  const WorkerClocks::Worker& worker = workers_[w];
  out.counted(options_.first_worker + w, {.member = !worker.gone,
                                          .behind = worker.behind,
                                          .applied = worker.applied,
                                          .arrived = worker.arrived,
                                          .ahead = worker.ahead});
}

void Server::lead(NodeId self, const Owner& owner, double now, Outbox& out) {
  options_.id = self;
  const bool is_new_leader = !leads_ || owner.epoch != epoch_;
  leads_ = true;
  epoch_ = owner.epoch;
  if (is_new_leader) begin_to_lead(out);
  else log_.lead(epoch_);
  deliver(log_.set_copies(owner, now), out);
  log_.commit();
  answer_all(now, out);
}

// An answer after the last entry of the former owner's log showed what that entry made, which is what is
// here: it may have been sent to every worker.
void Server::begin_to_lead(Outbox& out) {
  waiting_.clear();
  std::vector<std::int64_t> pushes;
  for (std::uint32_t w = 0; w < workers_.size(); ++w)
    pushes.push_back(before_pending(w, workers_[w].arrived));
  log_.begin(epoch_, std::move(pushes));
  if (mutant("adam-begins-anew")) weights_.forget_steps();
  out.promoted();
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    weights_.was_sent(w, snapshot());
    tell_count(w, out);
  }
  updates_.forget_others();
}

void Server::follow(NodeId self, std::uint32_t epoch, NodeId primary, std::optional<NodeId> next) {
  options_.id = self;
  const bool in_step = epoch_ == epoch && (log_.in_step() || leads_);
  log_.follow(in_step, std::exchange(leads_, false), primary, next);
  waiting_.clear();
  early_.clear();
  epoch_ = epoch;
  if (!log_.has_pushes()) forget_pending();  // it will hear of updates only
}

void Server::set_members(const std::vector<bool>& members, double now, Outbox& out) {
  std::vector<std::uint32_t> changed;
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    WorkerClocks::Worker& worker = workers_[w];
    if (worker.gone != members[w]) continue;
    changed.push_back(w);
    if (!worker.gone) {
      waiting_.erase(w);
      refuse_early(w, out);
    } else if (!options_.rule.fresh) {
      if (mutant("skips-what-may-come")) skip_to(workers_.slowest(), w);
      worker.behind = worker.clock() < workers_.slowest();
      worker.told = -1;
    }
  }
  if (changed.empty()) return;
  workers_.set_members(members);
  for (const std::uint32_t w : changed) tell_count(w, out);
  if (logs_pushes()) {
    log_.next().members = members;
    deliver(log_.append(), out);
  }
  update_if_complete(out);
  restart_steps();
  answer_all(now, out);
}

}  // namespace psim
