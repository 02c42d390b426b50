#include "sim/protocol/scheduler/failure_aware_scheduler.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {

FailureAwareScheduler::FailureAwareScheduler(Options options, SchedulerOutbox& out, double now)
    : options_(std::move(options)),
      out_(out),
      now_(now),
      membership_(options_.rules, options_.keys),
      ended_(options_.jobs.size()),
      here_(1 + options_.rules.servers + options_.rules.workers) {
  if (options_.slow) slow_.emplace(*options_.slow);
  for (const ScheduledJob& job : options_.jobs) sharing_.emplace_back(job.sharing, out_);
  if (options_.lives > 0) looks_until_ = now_ + options_.rules.detector.timeout;
  end_jobs();
}

void FailureAwareScheduler::on(const Message& message, double now) {
  now_ = now;
  const std::int64_t before = view().number;
  looks_until_ ? hear(message) : take(message);
  spread(before);
  end_jobs();
}

// The date of a suspicion, or of a decision about work that stops waiting.
std::optional<double> FailureAwareScheduler::next_date() const {
  if (looks_until_) return looks_until_;
  std::optional<double> first = membership_.next_suspicion();
  for (const WorkSharing& sharing : sharing_) {
    if (const std::optional<double> date = sharing.next()) first = std::min(first.value_or(*date), *date);
  }
  return first;
}

void FailureAwareScheduler::on_date(double now) {
  now_ = now;
  const std::int64_t before = view().number;
  if (looks_until_) {
    take_up();
  } else {
    for (WorkSharing& sharing : sharing_) sharing.decide_overdue(now);
    suspect(now);
  }
  spread(before);
  // The last worker that the others waited for is gone for good, and the scheduler learns it only now. If all
  // workers had finished, only the scheduler did not know it.
  for (std::size_t j = 0; j < ended_.size(); ++j) {
    const bool may_give_up = !out_.is_over(j) && !out_.all_through(j);
    if (PSIM_PROBE(may_give_up && is_over(j), "a job waits no longer for its last worker"))
      out_.waits_no_longer(j);
  }
  end_jobs();
}

void FailureAwareScheduler::spread(std::int64_t view_before) {
  if (view().number == view_before) return;
  take_out();
  if (looks_until_) return;
  announce();
  share_out();
}

void FailureAwareScheduler::take_out() {
  for (const ScheduledJob& job : options_.jobs) {
    for (NodeId node = job.first_worker; node < job.past_workers(); ++node)
      out_.takes_out(node, !membership_.is_up(node));
  }
}

void FailureAwareScheduler::share_out() {
  for (WorkSharing& sharing : sharing_) sharing.set_members(view().workers, now_);
}

// Nodes do not wait for a worker that is gone for good.
bool FailureAwareScheduler::is_over(std::size_t number) const {
  if (!started_) return false;
  const ScheduledJob& job = options_.jobs[number];
  bool all_left = true;
  for (NodeId node = job.first_worker; node < job.past_workers(); ++node) {
    const bool has_left = here_[node].left || membership_.is_absent(node);
    if ((!has_left && membership_.is_up(node)) || out_.awaits(node)) return false;
    all_left = all_left && has_left;
  }
  // If the last workers have crashed, the steps are not done.
  return all_left || out_.some_completed(number);
}

// A job ends when its workers have finished, or by itself: at a date, or at its target.
void FailureAwareScheduler::end_jobs() {
  std::vector<std::size_t> now;
  for (std::size_t j = 0; j < ended_.size(); ++j) {
    if (ended_[j] || !(out_.is_over(j) || is_over(j))) continue;
    if (!out_.is_over(j)) out_.ends(j);
    ended_[j] = true;
    now.push_back(j);
  }
  if (now.empty() || is_over()) return;
  for (const std::size_t j : now) retire(options_.jobs[j]);
  if (looks_until_) return;
  started_ ? announce() : start(scheduler_node);
}

// The other jobs continue without its workers, and without its shards unless other nodes read them.
void FailureAwareScheduler::retire(const ScheduledJob& job) {
  std::vector<NodeId> workers;
  for (NodeId node = job.first_worker; node < job.past_workers(); ++node) {
    here_[node].left = true;
    workers.push_back(node);
  }
  membership_.retire(std::move(workers), job.first_shard, job.served ? 0 : job.shards);
}

bool FailureAwareScheduler::is_retired(NodeId node) const {
  for (std::size_t j = 0; j < ended_.size(); ++j)
    if (ended_[j] && options_.jobs[j].has(node)) return true;
  return false;
}

std::size_t FailureAwareScheduler::ended_jobs() const {
  return static_cast<std::size_t>(std::ranges::count(ended_, true));
}

std::optional<FailureAwareScheduler::News> FailureAwareScheduler::news_of(const Message& message) {
  if (const Join* join = message.as<Join>()) return News{join->life, {}, false, false};
  if (const Leave* leave = message.as<Leave>()) return News{leave->life, leave->view, true, true};
  if (const Heartbeat* beat = message.as<Heartbeat>())
    return News{beat->life, beat->view, false, beat->is_through};
  return std::nullopt;
}

// Collects which nodes are alive, and what they know.
void FailureAwareScheduler::hear(const Message& message) {
  if (const NewView* answer = message.as<NewView>()) {
    if (view_ == nullptr || answer->view->number > view_->number) view_ = answer->view;
    return;
  }
  const std::optional<News> news = news_of(message);
  const NodeId node = message.from;
  if (!news || is_retired(node)) return;  // the node will send it again
  if (node >= members()) return on_reader(message);
  here_[node].heard = message.because.event;
  Member& member = here_[node];
  if (PSIM_PROBE(news->says_leave, "a node leaves while the scheduler is new")) acknowledge_leave(node);
  if (news->life > member.life) member = {.joined = true, .life = news->life};
  if (news->view) member.view = std::max(member.view, *news->view);
  if (!news->is_leaving || is_server(node))
    membership_.heard(node, static_cast<std::uint32_t>(news->life), now_);
  if (news->is_leaving && !std::exchange(member.left, true)) membership_.leaves(node);
  if (news->view && *news->view > (view_ ? view_->number : -1))
    out_.send_once({.from = scheduler_node, .to = node, .body = AskView{}});
}

// All live nodes have been heard; the scheduler continues with the newest known view.
void FailureAwareScheduler::take_up() {
  const std::int64_t newest = std::ranges::max(here_, {}, &Member::view).view;
  if (PSIM_PROBE(newest > (view_ ? view_->number : -1), "a new scheduler waits for the newest view")) {
    for (Member& member : here_) member.view = -1;  // the node that knew it may be gone
    looks_until_ = now_ + options_.rules.detector.timeout;
    return;
  }
  looks_until_.reset();
  // No node has been told to start, or none of those nodes is left.
  if (PSIM_PROBE(view_ == nullptr, "a new scheduler finds no view")) {
    membership_.begin_anew(options_.lives);
    has_begun_ = std::ranges::any_of(here_, [](const Member& member) { return member.life > 0; });
    return start(scheduler_node);
  }
  std::vector<NodeId> strangers;
  for (NodeId node = 1; node < here_.size(); ++node) {
    // A server that leaves may still have to serve. It has lost its state, like a server that stays.
    const bool may_serve = !here_[node].left || is_server(node);
    if (here_[node].joined && may_serve && here_[node].view < 0) strangers.push_back(node);
  }
  for (const NodeId node : membership_.take_up(*view_, strangers, options_.lives))
    out_.suspects(node, view().number, {});
  for (std::size_t j = 0; j < ended_.size(); ++j) {
    if (ended_[j]) retire(options_.jobs[j]);
  }
  PSIM_PROBE(!strangers.empty(), "a node came while the scheduler was down");
  started_ = true;
  for (const NodeId node : strangers) tell_start(node);
}

void FailureAwareScheduler::take(const Message& message) {
  const NodeId node = message.from;
  if (const Ready* ready = message.as<Ready>())
    return membership_.ready(message.shard, ready->next_owner, message.epoch);
  if (const Report* report = message.as<Report>()) return on_report(node, *report);
  const std::optional<News> news = news_of(message);
  if (!news || is_retired(node)) return;  // the answer to an old question
  if (node >= members()) return on_reader(message);
  if (const Join* join = message.as<Join>()) return on_join(message, *join);
  if (const Heartbeat* beat = message.as<Heartbeat>()) {
    for (const ShardLoad& load : beat->loads) membership_.carries(node, load);
  }
  if (!here_[node].left || is_server(node))
    membership_.heard(node, static_cast<std::uint32_t>(news->life), now_);
  if (news->view && started_ && *news->view < view().number) tell_view(node);
  if (!news->says_leave) return;
  acknowledge_leave(node);
  if (news->life < here_[node].life) return;  // from an earlier life
  if (!std::exchange(here_[node].left, true)) membership_.leaves(node);
}

void FailureAwareScheduler::on_join(const Message& message, const Join& join) {
  const NodeId node = message.from;
  if (join.life < here_[node].life) return;  // a later message has overtaken it
  if (join.life > here_[node].life) {        // otherwise it repeats an earlier message
    here_[node] = {.joined = true, .life = join.life, .heard = message.because.event};
    for (WorkSharing& sharing : sharing_) sharing.is_new(node);
    if (slow_) slow_->begins_anew(node);
  }
  PSIM_PROBE(started_ && join.life > 0, "a node joins again during the run");
  membership_.heard(node, static_cast<std::uint32_t>(join.life), now_);
  start(node);
}

// The scheduler's requests to a worker may get lost, so it asks again with the next report.
void FailureAwareScheduler::on_report(NodeId node, const Report& report) {
  if (report.purpose == Report::To::share_work) {
    for (WorkSharing& sharing : sharing_) sharing.on(node, report, now_);
    return;
  }
  if (!slow_ || !report.seconds_per_sample || here_[node].left || !membership_.is_up(node)) return;
  if (const auto verdict = slow_->report(node, *report.seconds_per_sample)) {
    out_.is_slow(node, *verdict);
    if (PSIM_PROBE(verdict->spare, "a spare worker replaces a slow one")) out_.start_spare(*verdict->spare);
  }
  if (PSIM_PROBE(slow_->is_unwanted(node), "a slow worker is asked to leave"))
    out_.send_once({.from = scheduler_node, .to = node, .body = Leave{.life = here_[node].life}});
}

void FailureAwareScheduler::acknowledge_leave(NodeId node) {
  out_.send({.from = scheduler_node, .to = node, .body = LeaveAck{}});
}

// An inference node reports the view that it knows.
void FailureAwareScheduler::on_reader(const Message& message) {
  const std::int64_t known = message.as<Heartbeat>()->view;
  const std::int64_t newest = looks_until_ ? (view_ ? view_->number : -1) : view().number;
  if (looks_until_ && known > newest)
    out_.send_once({.from = scheduler_node, .to = message.from, .body = AskView{}});
  if (!looks_until_ && started_ && known < newest) tell_view(message.from);
}

// At first, when all nodes have joined that are not suspected; later each node that comes back.
void FailureAwareScheduler::start(NodeId node) {
  if (started_) return tell_start(node);
  for (NodeId other = 1; other < here_.size(); ++other) {
    if (!here_[other].joined && membership_.is_up(other)) return;
  }
  started_ = true;
  share_out();
  first_view_ = view().number;
  membership_.start(now_);
  for (NodeId other = 1; other < here_.size(); ++other) {
    if (here_[other].joined) tell_start(other);
  }
  tell_readers();
}

void FailureAwareScheduler::suspect(double date) {
  for (const NodeId node : membership_.suspect(date)) {
    if (slow_) slow_->forget(node);
    out_.suspects(node, view().number, Cause{here_[node].heard, Spent::timeout});
  }
  if (PSIM_PROBE(!started_, "the start waits no longer for a silent node")) start(scheduler_node);
}

void FailureAwareScheduler::announce() {
  out_.announces(view().number);
  newest_view();  // also if no node is alive to receive it
  for (NodeId node = 1; node < here_.size(); ++node) {
    const bool hands_over = is_server(node) && here_[node].left;
    if ((membership_.is_up(node) && !here_[node].left) || hands_over) tell_view(node);
  }
  if (started_) tell_readers();
}

void FailureAwareScheduler::tell_readers() {
  for (NodeId node = options_.first_reader; node < options_.past_readers; ++node) tell_view(node);
}

const SharedView& FailureAwareScheduler::newest_view() {
  if (view_ == nullptr || view_->number != view().number) {
    view_ = std::make_shared<const View>(view());
    out_.has_new_view(*view_, membership_.loads());
  }
  return view_;
}

// One message at a time: heartbeats may come faster than the answers go through the scheduler's link.
void FailureAwareScheduler::tell_start(NodeId node) {
  const bool restarts = options_.restarts_workers && has_begun_;
  const bool goes_on = view().number > first_view_ || restarts;
  out_.send_once({.from = scheduler_node, .to = node, .body = Start{newest_view(), goes_on}});
}

void FailureAwareScheduler::tell_view(NodeId node) {
  out_.send_once({.from = scheduler_node, .to = node, .body = NewView{newest_view()}});
}

void WorkSharing::on(NodeId from, const Report& report, double now) {
  if (!options_.dynamic || !is_worker(from)) return;
  tell(balancer_.report(from - options_.first_worker, report.clock, report.seconds_per_sample,
                        report.decision, now));
}

// A worker that has done its clocks keeps its share, because no other worker has to compute that share.
void WorkSharing::set_members(const std::vector<bool>& members, double now) {
  if (!options_.dynamic) return;
  const auto first = members.begin() + options_.first_index;
  std::vector<bool> all(first, first + options_.workers);
  if (!options_.balancer.in_step) {
    for (std::uint32_t w = 0; w < options_.workers; ++w)
      all[w] = all[w] || out_.has_completed(options_.first_worker + w);
  }
  tell(balancer_.set_members(all, now));
}

void WorkSharing::is_new(NodeId node) {
  if (options_.dynamic && is_worker(node)) balancer_.is_new(node - options_.first_worker);
}

void WorkSharing::decide_overdue(double now) { tell(balancer_.overdue(now)); }

void WorkSharing::tell(const Balancer::Assignments& assignments) {
  for (const Balancer::Assignment& one : assignments) {
    const Sizes& sizes = *one.sizes;
    Assign assign{
        .clock = one.clock,
        .batch_size = sizes[one.worker],
        .samples_before = std::accumulate(sizes.begin(), sizes.begin() + one.worker, std::int64_t{0})};
    if (!options_.balancer.in_step) assign.decision = one.clock;
    if (options_.tells_sizes) assign.sizes = one.sizes;
    out_.send({.from = scheduler_node, .to = options_.first_worker + one.worker, .body = std::move(assign)});
  }
}

SteadyScheduler::SteadyScheduler(std::uint32_t servers, const std::vector<ScheduledJob>& jobs,
                                 SchedulerOutbox& out)
    : out_(out), members_(servers) {
  for (const ScheduledJob& job : jobs) {
    members_ += job.workers;
    jobs_.push_back({job, WorkSharing(job.sharing, out)});
  }
}

void SteadyScheduler::on(const Message& message, double now) {
  if (message.is<Join>()) {
    ++joined_;
    for (NodeId node = 1; has_started() && node <= members_; ++node)
      out_.send({.from = scheduler_node, .to = node, .body = Start{}});
    return;
  }
  const auto job =
      std::ranges::find_if(jobs_, [&message](const Job& one) { return one.plan.has(message.from); });
  if (const Report* report = message.as<Report>()) return job->sharing.on(message.from, *report, now);
  const auto number = static_cast<std::size_t>(job - jobs_.begin());
  if (++job->left == job->plan.workers && !out_.is_over(number)) out_.ends(number);
}

bool SteadyScheduler::is_over() const {
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    if (!out_.is_over(j) && jobs_[j].left < jobs_[j].plan.workers) return false;
  return true;
}

}  // namespace psim
