#include "sim/nodes/failure_aware_scheduler.hpp"

#include <algorithm>
#include <utility>

#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

Manager::Options options_of(const JobPlan& plan) {
  return {.servers = plan.servers(),
          .workers = static_cast<std::uint32_t>(plan.cluster().workers),
          .copies = plan.scenario.replication.copies,
          .detector = plan.detector(),
          .removes_workers = plan.scenario.recovery.workers != LostWorkers::wait,
          .takes_over = plan.scenario.recovery.servers == LostServers::neighbour,
          .rebalance = plan.scenario.recovery.rebalance,
          .two_phase = plan.scenario.recovery.hand_over == HandOver::two_phase,
          .absent = plan.absent};
}

// All shards of the run, one job's after the other's; none where there are no servers. Only where there is
// one job may shards be cut, so only there does it matter where they lie in the key space.
KeySpace keys_of(const std::vector<JobContext*>& jobs) {
  KeySpace all;
  for (const JobContext* job : jobs) {
    const KeySpace& own = job->plan.keys;
    all.parameters += own.parameters;
    all.shards.insert(all.shards.end(), own.shards.begin(), own.shards.end());
  }
  return all;
}

bool sends_ranges(const JobContext* job) { return job->plan.scenario.messages.unit == MessageUnit::range; }

}  // namespace

FailureAwareScheduler::FailureAwareScheduler(const std::vector<JobContext*>& jobs)
    : jobs_(jobs),
      ended_(jobs.size()),
      job_(*jobs.front()),
      manager_(options_of(job_.plan), keys_of(jobs)),
      here_(job_.plan.database()),
      lives_(job_.network.incarnation(scheduler_node)) {
  if (const SlowSpec& slow = job_.plan.scenario.recovery.slow; slow.given)
    slow_.emplace(job_.plan.workers(), slow.factor, slow.window);
  for (JobContext* job : jobs) sharing_.emplace_back(*job);
  if (lives_ > 0) looks_until_ = Agenda::now() + job_.plan.detector().timeout;
}

void FailureAwareScheduler::run() {
  end_jobs();
  while (std::ranges::find(ended_, false) != ended_.end()) {
    const std::int64_t before = manager_.view().number;
    const std::optional<double> date = next_date();
    const std::optional<Message> message =
        date ? job_.network.receive_until(scheduler_node, *date) : job_.network.receive(scheduler_node);
    if (message && !message->is<Heartbeat>()) job_.recorder.course().needs(message->because.event);
    if (message && looks_until_) hear(*message);
    else if (message) on(*message);
    else if (looks_until_) take_up();
    else on_date(std::max(Agenda::now(), *date));  // the clock may stop a rounding error before it
    if (manager_.view().number > before) tell_jobs();
    if (!looks_until_ && manager_.view().number > before) announce();
    if (!looks_until_ && manager_.view().number > before) share_out();
    for (JobContext* job : jobs_) {
      // The last one that the others waited for is gone for good: that is known only now. Where all were
      // through, only the scheduler has not known it until now.
      const bool all_through = job->state.all_through();
      const bool may_give_up = !message && !job->state.over && !all_through;
      if (may_give_up && is_over(*job)) job->state.last_finish = Agenda::now();
    }
    end_jobs();
  }
}

// A suspicion, or a decision about work that waits no longer.
std::optional<double> FailureAwareScheduler::next_date() const {
  if (looks_until_) return looks_until_;
  std::optional<double> first = manager_.next_suspicion();
  for (const WorkSharing& sharing : sharing_) {
    if (const std::optional<double> date = sharing.next()) first = std::min(first.value_or(*date), *date);
  }
  return first;
}

void FailureAwareScheduler::on_date(double now) {
  for (WorkSharing& sharing : sharing_) sharing.decide_overdue(now);
  suspect(now);
}

void FailureAwareScheduler::share_out() {
  for (WorkSharing& sharing : sharing_) sharing.set_members(manager_.view().workers);
}

void FailureAwareScheduler::tell_jobs() {
  for (JobContext* job : jobs_) {
    for (NodeId node = job->plan.first_worker(); node < job->plan.past_workers(); ++node)
      job->state.taken_out[node - job->plan.first_worker()] = !manager_.is_up(node);
  }
}

// Nobody waits for a worker that is gone for good.
bool FailureAwareScheduler::is_over(const JobContext& job) const {
  if (!started_) return false;
  bool all_left = true;
  for (NodeId node = job.plan.first_worker(); node < job.plan.past_workers(); ++node) {
    const bool has_left = here_[node].left || manager_.is_absent(node);
    if ((!has_left && manager_.is_up(node)) || job.awaits(node)) return false;
    all_left = all_left && has_left;
  }
  // Where the last ones have crashed, the steps are not done.
  return all_left || job.state.some_completed();
}

// A job ends when its workers are through, or by itself: at a date, or at its target.
void FailureAwareScheduler::end_jobs() {
  std::vector<const JobContext*> now;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    JobContext& job = *jobs_[j];
    if (ended_[j] || !(job.state.over || is_over(job))) continue;
    if (!job.state.over) job.observer.on_end();
    ended_[j] = true;
    now.push_back(&job);
  }
  if (now.empty() || std::ranges::find(ended_, false) == ended_.end()) return;
  for (const JobContext* job : now) retire(*job);
  if (looks_until_) return;
  started_ ? announce() : start(scheduler_node);
}

// The others go on without its workers, and without its shards unless somebody reads them.
void FailureAwareScheduler::retire(const JobContext& job) {
  std::vector<NodeId> workers;
  for (NodeId node = job.plan.first_worker(); node < job.plan.past_workers(); ++node) {
    here_[node].left = true;
    workers.push_back(node);
  }
  const bool stays = job.plan.served;
  manager_.retire(std::move(workers), job.plan.first_shard,
                  stays ? 0 : static_cast<std::uint32_t>(job.plan.keys.shards.size()));
}

bool FailureAwareScheduler::is_retired(NodeId node) const {
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    if (ended_[j] && jobs_[j]->plan.is_worker(node)) return true;
  return false;
}

std::optional<FailureAwareScheduler::News> FailureAwareScheduler::news_of(const Message& message) {
  if (const Join* join = message.as<Join>()) return News{join->life, {}, false, false};
  if (const Leave* leave = message.as<Leave>()) return News{leave->life, leave->view, true, true};
  if (const Heartbeat* beat = message.as<Heartbeat>())
    return News{beat->life, beat->view, false, beat->is_through};
  return std::nullopt;
}

// After a crash of its own: who is there, and what do they know?
void FailureAwareScheduler::hear(const Message& message) {
  if (const NewView* answer = message.as<NewView>()) {
    if (view_ == nullptr || answer->view->number > view_->number) view_ = answer->view;
    return;
  }
  const std::optional<News> news = news_of(message);
  const NodeId node = message.from;
  if (!news || is_retired(node)) return;  // it will come again
  if (node >= members()) return on_reader(message);
  here_[node].heard = message.because.event;
  Member& member = here_[node];
  if (news->says_leave) acknowledge_leave(node);
  if (news->life > member.life) member = {.joined = true, .life = news->life};
  if (news->view) member.view = std::max(member.view, *news->view);
  if (!news->is_leaving || job_.plan.is_server(node))
    manager_.heard(node, static_cast<std::uint32_t>(news->life), Agenda::now());
  if (news->is_leaving && !std::exchange(member.left, true)) manager_.leaves(node);
  if (news->view && *news->view > (view_ ? view_->number : -1))
    job_.network.send_once({.from = scheduler_node, .to = node, .body = AskView{}});
}

// Everybody who is there has been heard; goes on with the newest view that there is.
void FailureAwareScheduler::take_up() {
  const std::int64_t newest = std::ranges::max(here_, {}, &Member::view).view;
  if (newest > (view_ ? view_->number : -1)) {      // not here yet
    for (Member& member : here_) member.view = -1;  // who knew it may be gone
    looks_until_ = Agenda::now() + job_.plan.detector().timeout;
    return;
  }
  looks_until_.reset();
  if (view_ == nullptr) {  // nobody has been told to start, or none of those is left
    manager_.begin_anew(lives_);
    has_begun_ = std::ranges::any_of(here_, [](const Member& member) { return member.life > 0; });
    return start(scheduler_node);
  }
  std::vector<NodeId> strangers;
  for (NodeId node = 1; node < here_.size(); ++node) {
    // A server that leaves may still have to serve, and has lost its state like one that stays.
    const bool may_serve = !here_[node].left || job_.plan.is_server(node);
    if (here_[node].joined && may_serve && here_[node].view < 0) strangers.push_back(node);
  }
  for (const NodeId node : manager_.take_up(*view_, strangers, lives_))
    job_.record(scheduler_node, Suspicion{node, manager_.view().number});
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    if (ended_[j]) retire(*jobs_[j]);
  }
  started_ = true;
  for (const NodeId node : strangers) tell_start(node);
}

void FailureAwareScheduler::on(const Message& message) {
  if (const Ready* ready = message.as<Ready>())
    return manager_.ready(message.shard, ready->next_owner, message.epoch);
  if (const Report* report = message.as<Report>()) return on_report(message.from, *report);
  const std::optional<News> news = news_of(message);
  const NodeId node = message.from;
  if (!news || is_retired(node)) return;  // the answer to an old question
  if (node >= members()) return on_reader(message);
  const auto life = static_cast<std::uint32_t>(news->life);
  if (message.is<Join>()) {
    if (news->life < here_[node].life) return;  // overtaken
    if (news->life > here_[node].life) {        // else it says again what it said
      here_[node] = {.joined = true, .life = news->life, .heard = message.because.event};
      for (WorkSharing& sharing : sharing_) sharing.is_new(node);
      unwanted_.erase(node);
      if (slow_ && job_.plan.is_worker(node)) slow_->begins_anew(node - job_.plan.first_worker());
    }
    manager_.heard(node, life, Agenda::now());
    return start(node);
  }
  if (const Heartbeat* beat = message.as<Heartbeat>()) {
    for (const ShardLoad& load : beat->loads) manager_.carries(node, load);
  }
  if (!here_[node].left || job_.plan.is_server(node)) manager_.heard(node, life, Agenda::now());
  if (news->view && started_ && *news->view < manager_.view().number) tell_view(node);
  if (!news->says_leave) return;
  acknowledge_leave(node);
  if (news->life < here_[node].life) return;  // of a life that is over
  if (!std::exchange(here_[node].left, true)) manager_.leaves(node);
}

// What the scheduler asks of a worker may get lost, so it asks again with the next report.
void FailureAwareScheduler::on_report(NodeId node, const Report& report) {
  const std::size_t worker = node - job_.plan.first_worker();
  if (report.purpose == Report::To::share_work) {
    for (WorkSharing& sharing : sharing_) sharing.on(node, report);
    return;
  }
  if (!slow_ || !report.seconds_per_sample || here_[node].left || !manager_.is_up(node)) return;
  if (const std::optional<SlowNodes::Found> found = slow_->report(worker, *report.seconds_per_sample))
    on_slow(node, *found);
  if (unwanted_.contains(node)) ask_to_leave(node);
}

// With no spare left it stays: a slow worker brings more than none.
void FailureAwareScheduler::on_slow(NodeId node, const SlowNodes::Found& found) {
  const std::vector<NodeId>& spares = job_.plan.spares;
  const bool has_spare = spares_used_ < spares.size();
  SlowAction action = job_.plan.scenario.recovery.slow.action;
  if (action == SlowAction::replace && !has_spare) action = SlowAction::flag;
  job_.record(scheduler_node, SlowWorker{node, found.seconds, found.median, action});
  if (action == SlowAction::replace && has_spare) job_.observer.start_spare(spares[spares_used_++]);
  if (action != SlowAction::flag) unwanted_.insert(node);
}

void FailureAwareScheduler::ask_to_leave(NodeId worker) {
  job_.network.send_once({.from = scheduler_node, .to = worker, .body = Leave{.life = here_[worker].life}});
}

// An inference node says which view it knows.
void FailureAwareScheduler::on_reader(const Message& message) {
  const std::int64_t known = message.as<Heartbeat>()->view;
  const std::int64_t newest = looks_until_ ? (view_ ? view_->number : -1) : manager_.view().number;
  if (looks_until_ && known > newest)
    job_.network.send_once({.from = scheduler_node, .to = message.from, .body = AskView{}});
  if (!looks_until_ && started_ && known < newest) tell_view(message.from);
}

// At first, when all have joined who are not suspected; later whoever comes back.
void FailureAwareScheduler::start(NodeId node) {
  if (started_) return tell_start(node);
  for (NodeId other = 1; other < here_.size(); ++other) {
    if (!here_[other].joined && manager_.is_up(other)) return;
  }
  started_ = true;
  share_out();
  first_view_ = manager_.view().number;
  manager_.start(Agenda::now());
  for (NodeId other = 1; other < here_.size(); ++other) {
    if (here_[other].joined) tell_start(other);
  }
  tell_readers();
}

void FailureAwareScheduler::suspect(double now) {
  for (const NodeId node : manager_.suspect(now)) {
    if (slow_ && job_.plan.is_worker(node)) slow_->forget(node - job_.plan.first_worker());
    const Cause silence{here_[node].heard, Spent::timeout};
    job_.record(scheduler_node, Suspicion{node, manager_.view().number}, silence);
  }
  if (!started_) start(scheduler_node);
}

void FailureAwareScheduler::announce() {
  job_.record(scheduler_node, ViewChange{manager_.view().number});
  newest_view();  // which records it, if nobody is there to be told of it
  for (NodeId node = 1; node < here_.size(); ++node) {
    const bool hands_over = job_.plan.is_server(node) && here_[node].left;
    if ((manager_.is_up(node) && !here_[node].left) || hands_over) tell_view(node);
  }
  if (started_) tell_readers();
}

void FailureAwareScheduler::tell_readers() {
  const ClusterSpec& cluster = job_.plan.cluster();
  for (NodeId node = first_inference_node(cluster); node < node_count(cluster); ++node) tell_view(node);
}

const SharedView& FailureAwareScheduler::newest_view() {
  if (view_ == nullptr || view_->number != manager_.view().number) {
    view_ = std::make_shared<const View>(manager_.view());
    job_.state.hear(*view_);
    record_changes(*view_);
    record(*view_);
  }
  return view_;
}

// What the placement or the load makes of who came and who went. Where whole servers' parts move, the places
// tell as much.
void FailureAwareScheduler::record_changes(const View& view) {
  const bool by_load = job_.plan.scenario.recovery.rebalance == Rebalance::load;
  if (!by_load && std::ranges::none_of(jobs_, sends_ranges)) return;
  const auto values_of = [&](std::size_t s) { return static_cast<std::int64_t>(manager_.shard_at(s).count); };
  const std::size_t planned = view.owners.size() - view.cuts.size();
  const bool is_first = goals_.empty();
  std::vector<std::int64_t> sizes;
  for (std::size_t s = 0; s < view.owners.size(); ++s) sizes.push_back(values_of(s));
  const auto parts = sizes_when_cut(view.cuts, std::move(sizes));
  for (std::size_t n = std::max(goals_.size(), planned); !is_first && n < view.owners.size(); ++n) {
    const Cut& cut = view.cuts[n - planned];
    job_.record(scheduler_node, ShardCut{.view = view.number,
                                         .shard = cut.shard,
                                         .part = static_cast<std::uint32_t>(n),
                                         .epoch = view.owners[cut.shard].epoch,
                                         .values = parts[n - planned].first,
                                         .part_values = parts[n - planned].second});
    goals_.push_back(goals_[cut.shard]);
  }
  for (std::uint32_t s = 0; s < view.owners.size(); ++s) {
    const Owner& owner = view.owners[s];
    const NodeId goal = owner.next != 0 ? owner.next : owner.primary;
    if (is_first) goals_.push_back(goal);
    const NodeId before = std::exchange(goals_[s], goal);
    if (before == goal || goal == scheduler_node) continue;  // the latter: its job has ended
    job_.record(scheduler_node,
                ShardMove{.view = view.number,
                          .shard = s,
                          .from = before,
                          .to = goal,
                          .values = values_of(s),
                          .load = by_load ? std::optional(manager_.load_of(s)) : std::nullopt});
  }
}

void FailureAwareScheduler::record(const View& view) {
  for (std::uint32_t s = 0; s < view.owners.size(); ++s) {
    const Owner& owner = view.owners[s];
    if (owner.primary == scheduler_node) continue;
    const auto holds = [&](PlaceRole role, NodeId node) {
      job_.record(scheduler_node, ShardPlace{view.number, s, owner.epoch, role, node});
    };
    holds(PlaceRole::owner, owner.primary);
    for (const NodeId node : owner.from) holds(PlaceRole::former, node);
    for (const NodeId node : owner.replicas) holds(PlaceRole::replica, node);
    if (owner.next != scheduler_node) holds(PlaceRole::next, owner.next);
  }
  for (std::uint32_t w = 0; w < view.workers.size(); ++w) {
    if (view.workers[w]) job_.record(scheduler_node, Participant{view.number, job_.plan.first_worker() + w});
  }
}

// Once at a time: heartbeats may come faster than the answers go through the scheduler's link.
void FailureAwareScheduler::tell_start(NodeId node) {
  const bool restarts = job_.plan.scenario.recovery.workers == LostWorkers::restart && has_begun_;
  const bool goes_on = manager_.view().number > first_view_ || restarts;
  job_.network.send_once({.from = scheduler_node, .to = node, .body = Start{newest_view(), goes_on}});
}

void FailureAwareScheduler::tell_view(NodeId node) {
  job_.network.send_once({.from = scheduler_node, .to = node, .body = NewView{newest_view()}});
}

}  // namespace psim
