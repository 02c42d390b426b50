#include "sim/roles/failure_aware_scheduler.hpp"

#include <algorithm>
#include <utility>

#include "model/mutant.hpp"

namespace psim {

FailureAwareScheduler::FailureAwareScheduler(JobContext& job)
    : job_(job),
      manager_({.servers = job.plan.servers(),
                .workers = job.plan.workers(),
                .copies = job.plan.scenario.replication.copies,
                .detector = job.plan.detector(),
                .removes_workers = job.plan.scenario.recovery.workers != LostWorkers::wait,
                .takes_over = job.plan.scenario.recovery.servers == LostServers::neighbour,
                .rebalance = job.plan.scenario.recovery.rebalance,
                .two_phase = job.plan.scenario.recovery.hand_over == HandOver::two_phase,
                .absent = job.plan.absent},
               job.plan.keys),
      here_(1 + job.plan.servers() + job.plan.workers()),
      lives_(job.network.incarnation(scheduler_node)) {
  if (lives_ > 0) looks_until_ = Agenda::now() + job.plan.detector().timeout;
}

void FailureAwareScheduler::run() {
  while (!is_over()) {
    const std::int64_t before = manager_.view().number;
    const std::optional<double> date = looks_until_ ? looks_until_ : manager_.next_suspicion();
    const std::optional<Message> message =
        date ? job_.network.receive_until(scheduler_node, *date) : job_.network.receive(scheduler_node);
    if (message && looks_until_) hear(*message);
    else if (message) on(*message);
    else if (looks_until_) take_up();
    else suspect(std::max(Agenda::now(), *date));  // the clock may stop a rounding error before it
    if (manager_.view().number > before) tell_job();
    if (!looks_until_ && manager_.view().number > before) announce();
    // The last one that the others waited for is gone for good: that is known only now.
    if (!message && is_over()) job_.state.last_finish = Agenda::now();
  }
}

void FailureAwareScheduler::tell_job() {
  for (NodeId node = job_.plan.first_worker(); node < here_.size(); ++node)
    job_.state.taken_out[node - job_.plan.first_worker()] = !manager_.is_up(node);
}

// Nobody waits for a worker that is gone for good.
bool FailureAwareScheduler::is_over() const {
  if (!started_) return false;
  if (mutant("over-with-the-first") && job_.state.some_completed()) return true;
  bool all_left = true;
  for (NodeId node = job_.plan.first_worker(); node < here_.size(); ++node) {
    const bool has_left = here_[node].left || manager_.is_absent(node);
    if ((!has_left && manager_.is_up(node)) || job_.awaits(node)) return false;
    all_left = all_left && has_left;
  }
  // Where the last ones have crashed, the steps are not done.
  return all_left || job_.state.some_completed();
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
  if (!news) return;  // it will come again
  const NodeId node = message.from;
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
    return start(scheduler_node);
  }
  std::vector<NodeId> strangers;
  for (NodeId node = 1; node < here_.size(); ++node) {
    if (here_[node].joined && !here_[node].left && here_[node].view < 0) strangers.push_back(node);
  }
  for (const NodeId node : manager_.take_up(*view_, strangers, lives_))
    job_.record(scheduler_node, Suspicion{node, manager_.view().number});
  started_ = true;
  for (const NodeId node : strangers) tell_start(node);
}

void FailureAwareScheduler::on(const Message& message) {
  if (const Ready* ready = message.as<Ready>())
    return manager_.ready(message.shard, ready->next_owner, message.epoch);
  const std::optional<News> news = news_of(message);
  if (!news) return;  // the answer to an old question
  const NodeId node = message.from;
  const auto life = static_cast<std::uint32_t>(news->life);
  if (message.is<Join>()) {
    if (news->life < here_[node].life) return;  // overtaken
    // The same node does not come back without a new life: this is what it once said.
    if (news->life > here_[node].life) here_[node] = {.joined = true, .life = news->life};
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

void FailureAwareScheduler::acknowledge_leave(NodeId node) {
  job_.network.send({.from = scheduler_node, .to = node, .body = LeaveAck{}});
}

// At first, when all have joined who are not suspected; later whoever comes back.
void FailureAwareScheduler::start(NodeId node) {
  if (started_) return tell_start(node);
  for (NodeId other = 1; other < here_.size(); ++other) {
    if (!here_[other].joined && manager_.is_up(other)) return;
  }
  started_ = true;
  first_view_ = manager_.view().number;
  manager_.start(Agenda::now());
  for (NodeId other = 1; other < here_.size(); ++other) {
    if (here_[other].joined) tell_start(other);
  }
}

void FailureAwareScheduler::suspect(double now) {
  for (const NodeId node : manager_.suspect(now))
    job_.record(scheduler_node, Suspicion{node, manager_.view().number});
  if (!started_) start(scheduler_node);
}

void FailureAwareScheduler::announce() {
  job_.record(scheduler_node, ViewChange{manager_.view().number});
  newest_view();  // which records it, if nobody is there to be told of it
  for (NodeId node = 1; node < here_.size(); ++node) {
    const bool hands_over = job_.plan.is_server(node) && here_[node].left;
    if ((manager_.is_up(node) && !here_[node].left) || hands_over) tell_view(node);
  }
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
  const Scenario& scenario = job_.plan.scenario;
  const bool by_load = scenario.recovery.rebalance == Rebalance::load;
  if (!by_load && scenario.messages.unit != MessageUnit::range) return;
  const std::vector<Shard>& shards = job_.plan.keys_in(view.layout.get()).shards;
  const auto values_of = [&](std::size_t s) { return static_cast<std::int64_t>(shards[s].count); };
  const std::size_t planned = view.owners.size() - view.cuts.size();
  const bool is_first = goals_.empty();
  for (std::size_t n = std::max(goals_.size(), planned); !is_first && n < view.owners.size(); ++n) {
    const Cut& cut = view.cuts[n - planned];
    const auto part = static_cast<std::uint32_t>(n);
    job_.record(scheduler_node, ShardCut{.view = view.number,
                                         .shard = cut.shard,
                                         .part = part,
                                         .epoch = view.owners[cut.shard].epoch,
                                         .values = values_of(cut.shard),
                                         .part_values = values_of(n)});
    goals_.push_back(goals_[cut.shard]);
  }
  for (std::uint32_t s = 0; s < view.owners.size(); ++s) {
    const Owner& owner = view.owners[s];
    const NodeId goal = owner.next != 0 ? owner.next : owner.primary;
    if (is_first) goals_.push_back(goal);
    const NodeId before = std::exchange(goals_[s], goal);
    if (before == goal) continue;
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
  job_.network.send_once({.from = scheduler_node,
                          .to = node,
                          .body = Start{newest_view(), manager_.view().number > first_view_}});
}
void FailureAwareScheduler::tell_view(NodeId node) {
  job_.network.send_once({.from = scheduler_node, .to = node, .body = NewView{newest_view()}});
}

}  // namespace psim
