#include "sim/roles/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "model/mutant.hpp"
#include "sim/protocol/membership.hpp"

namespace psim {
namespace {

// Tells every worker its batch size, and how many samples of a clock the workers before it take.
void assign(World& world, const std::vector<std::int64_t>& sizes, std::int64_t clock) {
  std::int64_t before = 0;
  for (std::uint32_t w = 0; w < world.workers(); before += sizes[w++]) {
    world.network.send({.from = World::scheduler,
                        .to = world.first_worker() + w,
                        .body = Assign{.clock = clock, .batch_size = sizes[w], .samples_before = before}});
  }
}

World& world_of(const std::vector<World*>& worlds, NodeId worker) {
  return **std::ranges::find_if(worlds, [worker](const World* world) {
    return worker >= world->first_worker() && worker - world->first_worker() < world->workers();
  });
}

void run_without_failures(const std::vector<World*>& worlds) {
  World& first = *worlds.front();
  std::uint32_t members = first.servers();
  std::vector<Balancer> balancers;
  for (const World* world : worlds) {
    members += world->workers();
    balancers.emplace_back(world->scenario.training.batch_size * world->workers(), world->workers(),
                           world->scenario.training.work_smoothing);
  }
  for (std::uint32_t i = 0; i < members; ++i) first.network.receive(World::scheduler);  // join
  for (NodeId node = 1; node <= members; ++node) {
    first.network.send({.from = World::scheduler, .to = node, .body = Start{}});
  }
  const auto goes_on = [](const World* world) { return !world->over && world->left < world->workers(); };
  while (std::ranges::any_of(worlds, goes_on)) {
    const Message message = first.network.receive(World::scheduler);
    World& world = world_of(worlds, message.from);
    if (message.is<Leave>()) {
      if (++world.left == world.workers() && !world.over) world.on_end();
      continue;
    }
    const Report& report = *message.as<Report>();
    Balancer& balancer =
        balancers[static_cast<std::size_t>(std::ranges::find(worlds, &world) - worlds.begin())];
    if (const auto sizes = balancer.report(message.from - world.first_worker(), report.seconds_per_sample))
      assign(world, *sizes, report.clock);
  }
}

// The scheduler where nodes fail. What it says may get lost: a view is sent to whoever reports an older one.
class Watch {
 public:
  explicit Watch(World& world)
      : world_(world),
        manager_({.servers = world.servers(),
                  .workers = world.workers(),
                  .copies = world.scenario.replication.copies,
                  .detector = world.detector(),
                  .removes_workers = world.scenario.recovery.workers == LostWorkers::remove,
                  .takes_over = world.scenario.recovery.servers == LostServers::neighbour,
                  .rebalances = world.scenario.recovery.rebalance,
                  .two_phase = world.scenario.recovery.hand_over == HandOver::two_phase,
                  .absent = world.absent},
                 world.keys.servers()),
        here_(1 + world.servers() + world.workers()),
        lives_(world.network.incarnation(World::scheduler)) {
    if (lives_ > 0) looks_until_ = Agenda::now() + world.detector().timeout;
  }

  void run() {
    while (!is_over()) {
      const std::int64_t before = manager_.view().number;
      const std::optional<double> date = looks_until_ ? looks_until_
                                         : started_   ? manager_.next_suspicion()
                                                      : std::nullopt;
      const std::optional<Message> message = date ? world_.network.receive_until(World::scheduler, *date)
                                                  : world_.network.receive(World::scheduler);
      if (message && looks_until_) hear(*message);
      else if (message) on(*message);
      else if (looks_until_) take_up();
      else suspect(std::max(Agenda::now(), *date));  // the clock may stop a rounding error before it
      if (manager_.view().number > before) tell_world();
      if (!looks_until_ && manager_.view().number > before) announce();
      // The last one that the others waited for is gone for good: that is known only now.
      if (!message && is_over()) world_.last_finish = Agenda::now();
    }
  }

 private:
  void tell_world() {
    for (NodeId node = world_.first_worker(); node < here_.size(); ++node)
      world_.taken_out[node - world_.first_worker()] = !manager_.is_up(node);
  }

  // Nobody waits for a worker that is gone for good.
  bool is_over() const {
    if (!started_) return false;
    if (mutant("over-with-the-first") && world_.some_completed()) return true;
    bool all_left = true;
    for (NodeId node = world_.first_worker(); node < here_.size(); ++node) {
      const bool has_left = here_[node].left || manager_.is_absent(node);
      if ((!has_left && manager_.is_up(node)) || world_.awaits(node)) return false;
      all_left = all_left && has_left;
    }
    // Where the last ones have crashed, the steps are not done.
    return all_left || world_.some_completed();
  }

  // What the scheduler learns from a message about its sender.
  struct News {
    std::int64_t life;                 // how often it was started before
    std::optional<std::int64_t> view;  // the last one that it knows
    bool says_leave, is_leaving;       // it says so with this message; or has said it before
  };
  static std::optional<News> news_of(const Message& message) {
    if (const Join* join = message.as<Join>()) return News{join->life, {}, false, false};
    if (const Leave* leave = message.as<Leave>()) return News{leave->life, leave->view, true, true};
    if (const Heartbeat* beat = message.as<Heartbeat>())
      return News{beat->life, beat->view, false, beat->is_through};
    return std::nullopt;
  }

  // After a crash of its own: who is there, and what do they know?
  void hear(const Message& message) {
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
    if (!news->is_leaving || is_server(node))
      manager_.heard(node, static_cast<std::uint32_t>(news->life), Agenda::now());
    if (news->is_leaving && !std::exchange(member.left, true)) manager_.leaves(node);
    if (news->view && *news->view > (view_ ? view_->number : -1))
      world_.network.send_once({.from = World::scheduler, .to = node, .body = AskView{}});
  }

  // Everybody who is there has been heard; goes on with the newest view that there is.
  void take_up() {
    const std::int64_t newest = std::ranges::max(here_, {}, &Member::view).view;
    if (newest > (view_ ? view_->number : -1)) {      // not here yet
      for (Member& member : here_) member.view = -1;  // who knew it may be gone
      looks_until_ = Agenda::now() + world_.detector().timeout;
      return;
    }
    looks_until_.reset();
    if (view_ == nullptr) {  // nobody has been told to start, or none of those is left
      manager_.begin_anew(lives_);
      return start(World::scheduler);
    }
    std::vector<NodeId> strangers;
    for (NodeId node = 1; node < here_.size(); ++node) {
      if (here_[node].joined && !here_[node].left && here_[node].view < 0) strangers.push_back(node);
    }
    for (const NodeId node : manager_.take_up(*view_, strangers, lives_))
      world_.record(World::scheduler, Suspicion{node, manager_.view().number});
    started_ = true;
    for (const NodeId node : strangers) tell_start(node);
  }

  void on(const Message& message) {
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
    if (!here_[node].left || is_server(node)) manager_.heard(node, life, Agenda::now());
    if (news->view && started_ && *news->view < manager_.view().number) tell_view(node);
    if (!news->says_leave) return;
    acknowledge_leave(node);
    if (news->life < here_[node].life) return;  // of a life that is over
    if (!std::exchange(here_[node].left, true)) manager_.leaves(node);
  }

  void acknowledge_leave(NodeId node) {
    world_.network.send({.from = World::scheduler, .to = node, .body = LeaveAck{}});
  }

  // At first, when all are up; later whoever comes back.
  void start(NodeId node) {
    if (started_) return tell_start(node);
    for (NodeId other = 1; other < here_.size(); ++other) {
      if (!here_[other].joined && !manager_.is_absent(other)) return;
    }
    started_ = true;
    for (NodeId other = 1; other < here_.size(); ++other) {
      if (here_[other].joined) tell_start(other);
    }
  }

  void suspect(double now) {
    for (const NodeId node : manager_.suspect(now))
      world_.record(World::scheduler, Suspicion{node, manager_.view().number});
  }

  void announce() {
    world_.record(World::scheduler, ViewChange{manager_.view().number});
    newest_view();  // which records it, if nobody is there to be told of it
    for (NodeId node = 1; node < here_.size(); ++node) {
      const bool hands_over = is_server(node) && here_[node].left;
      if ((manager_.is_up(node) && !here_[node].left) || hands_over) tell_view(node);
    }
  }

  const SharedView& newest_view() {
    if (view_ == nullptr || view_->number != manager_.view().number) {
      view_ = std::make_shared<const View>(manager_.view());
      record(*view_);
    }
    return view_;
  }
  void record(const View& view) {
    for (std::uint32_t s = 0; s < view.owners.size(); ++s) {
      const Owner& owner = view.owners[s];
      const auto holds = [&](PlaceRole role, NodeId node) {
        world_.record(World::scheduler, ShardPlace{view.number, s, owner.epoch, role, node});
      };
      holds(PlaceRole::owner, owner.primary);
      for (const NodeId node : owner.from) holds(PlaceRole::former, node);
      for (const NodeId node : owner.replicas) holds(PlaceRole::replica, node);
      if (owner.next != World::scheduler) holds(PlaceRole::next, owner.next);
    }
    for (std::uint32_t w = 0; w < view.workers.size(); ++w) {
      if (view.workers[w])
        world_.record(World::scheduler, Participant{view.number, world_.first_worker() + w});
    }
  }
  // Once at a time: heartbeats may come faster than the answers go through the scheduler's link.
  void tell_start(NodeId node) {
    world_.network.send_once({.from = World::scheduler, .to = node, .body = Start{newest_view()}});
  }
  void tell_view(NodeId node) {
    world_.network.send_once({.from = World::scheduler, .to = node, .body = NewView{newest_view()}});
  }

  bool is_server(NodeId node) const { return node > 0 && node <= world_.servers(); }

  struct Member {
    bool joined = false, left = false;
    // While the scheduler looks around: how often it was started before, and which view it knows.
    std::int64_t life = -1, view = -1;
  };
  World& world_;
  Manager manager_;
  std::vector<Member> here_;  // by node
  std::uint32_t lives_;       // before this one
  std::optional<double> looks_until_;
  bool started_ = false;
  std::shared_ptr<const View> view_;
};

}  // namespace

void run_scheduler(const std::vector<World*>& worlds) {
  World& world = *worlds.front();
  if (!world.scenario.may_fail()) return run_without_failures(worlds);
  Watch(world).run();
  world.on_end();
}

void tell_view(World& world, NodeId node, const SharedView& view) {
  if (view) world.network.send_once({.from = node, .to = World::scheduler, .body = NewView{view}});
}

namespace {

// Says the same to the scheduler until `answers` is true of what comes back. Whoever has no heartbeat, at its
// beginning or end, sees here alone that nobody will answer.
void tell_until(World& world, NodeId node, const Body& body, const std::function<bool(Message&)>& answers) {
  Backoff backoff(world.retry());
  for (;;) {
    world.network.send_once({.from = node, .to = World::scheduler, .body = body});
    const double until = Agenda::now() + backoff.next();
    while (std::optional<Message> message = world.network.receive_until(node, until)) {
      if (answers(*message)) return;
    }
    if (!world.watch->is_hopeless() && backoff.gives_up()) world.watch->give_up(node);
  }
}

}  // namespace

Start join(World& world, NodeId node, const std::function<void(Message)>& others) {
  const Join here{world.network.incarnation(node)};
  if (!world.scenario.may_fail()) {
    world.network.send({.from = node, .to = World::scheduler, .body = here});
    return *world.network.receive(node).as<Start>();
  }
  Start start;
  tell_until(world, node, here, [&](Message& message) {
    const Start* answer = message.as<Start>();
    if (answer != nullptr) start = *answer;
    else if (others) others(std::move(message));
    return answer != nullptr;
  });
  return start;
}

void leave(World& world, NodeId node) {
  const Leave done{.life = world.network.incarnation(node)};
  if (!world.scenario.may_fail())
    return world.network.send({.from = node, .to = World::scheduler, .body = done});
  tell_until(world, node, done, [](const Message& message) { return message.is<LeaveAck>(); });
}

}  // namespace psim
