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
    world.network.send({.kind = MessageKind::assign,
                        .from = World::scheduler,
                        .to = world.first_worker() + w,
                        .clock = clock,
                        .version = before,
                        .number = sizes[w],
                        .payload = 16});
  }
}

// One node tells another which view it knows, unless it is being told: heartbeats may come faster than the
// answers go through the scheduler's link.
void send_view(World& world, NodeId from, NodeId to, MessageKind kind,
               const std::shared_ptr<const View>& view) {
  world.network.send_once({.kind = kind,
                           .from = from,
                           .to = to,
                           .version = view->number,
                           .payload = view->bytes(),
                           .attached = std::make_shared<const Attachment>(Attachment{.view = view})});
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
    first.network.send({.kind = MessageKind::start, .from = World::scheduler, .to = node});
  }
  const auto goes_on = [](const World* world) { return !world->over && world->left < world->workers(); };
  while (std::ranges::any_of(worlds, goes_on)) {
    const Message message = first.network.receive(World::scheduler);
    World& world = world_of(worlds, message.from);
    if (message.kind == MessageKind::leave) {
      if (++world.left == world.workers() && !world.over) world.on_end();
      continue;
    }
    Balancer& balancer =
        balancers[static_cast<std::size_t>(std::ranges::find(worlds, &world) - worlds.begin())];
    if (const auto sizes = balancer.report(message.from - world.first_worker(), message.seconds))
      assign(world, *sizes, message.clock);
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

  // After a crash of its own: who is there, and what do they know?
  void hear(const Message& message) {
    const NodeId node = message.from;
    Member& member = here_[node];
    if (message.kind == MessageKind::view) {
      const std::shared_ptr<const View>& view = message.attached->view;
      if (view_ == nullptr || view->number > view_->number) view_ = view;
      return;
    }
    if (message.kind == MessageKind::ready) return;  // it will come again
    const bool says_so = message.kind == MessageKind::leave;
    const bool is_leaving = says_so || (message.kind == MessageKind::heartbeat && message.clock > 0);
    if (says_so) world_.network.send({.kind = MessageKind::ack, .from = World::scheduler, .to = node});
    if (message.number > member.life) member = {.joined = true, .life = message.number};
    if (tells_view(message)) member.view = std::max(member.view, message.version);
    if (!is_leaving || is_server(node))
      manager_.heard(node, static_cast<std::uint32_t>(message.number), Agenda::now());
    if (is_leaving && !std::exchange(member.left, true)) manager_.leaves(node);
    if (tells_view(message) && message.version > (view_ ? view_->number : -1))
      world_.network.send_once({.kind = MessageKind::view, .from = World::scheduler, .to = node});  // which?
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
      world_.record(EventKind::suspect, World::scheduler, 0, manager_.view().number, node);
    started_ = true;
    for (const NodeId node : strangers) tell(node, MessageKind::start);
  }

  void on(const Message& message) {
    if (message.kind == MessageKind::view) return;  // the answer to an old question
    const NodeId node = message.from;
    if (message.kind == MessageKind::ready)
      return manager_.ready(message.shard, static_cast<NodeId>(message.number), message.epoch);
    if (message.kind == MessageKind::join) {
      if (message.number < here_[node].life) return;  // overtaken
      // The same node does not come back without a new life: this is what it once said.
      if (message.number > here_[node].life) here_[node] = {.joined = true, .life = message.number};
      manager_.heard(node, static_cast<std::uint32_t>(message.number), Agenda::now());
      return start(node);
    }
    if (!here_[node].left || is_server(node))
      manager_.heard(node, static_cast<std::uint32_t>(message.number), Agenda::now());
    if (tells_view(message) && started_ && message.version < manager_.view().number)
      tell(node, MessageKind::view);
    if (message.kind != MessageKind::leave) return;
    world_.network.send({.kind = MessageKind::ack, .from = World::scheduler, .to = node});
    if (message.number < here_[node].life) return;  // of a life that is over
    if (!std::exchange(here_[node].left, true)) manager_.leaves(node);
  }

  // At first, when all are up; later whoever comes back.
  void start(NodeId node) {
    if (started_) return tell(node, MessageKind::start);
    for (NodeId other = 1; other < here_.size(); ++other) {
      if (!here_[other].joined && !manager_.is_absent(other)) return;
    }
    started_ = true;
    for (NodeId other = 1; other < here_.size(); ++other) {
      if (here_[other].joined) tell(other, MessageKind::start);
    }
  }

  void suspect(double now) {
    for (const NodeId node : manager_.suspect(now))
      world_.record(EventKind::suspect, World::scheduler, 0, manager_.view().number, node);
  }

  void announce() {
    world_.record(EventKind::view, World::scheduler, 0, manager_.view().number);
    for (NodeId node = 1; node < here_.size(); ++node) {
      const bool hands_over = is_server(node) && here_[node].left;
      if ((manager_.is_up(node) && !here_[node].left) || hands_over) tell(node, MessageKind::view);
    }
  }

  void tell(NodeId node, MessageKind kind) {
    if (view_ == nullptr || view_->number != manager_.view().number)
      view_ = std::make_shared<const View>(manager_.view());
    send_view(world_, World::scheduler, node, kind, view_);
  }

  bool is_server(NodeId node) const { return node > 0 && node <= world_.servers(); }
  // A server that goes says so instead, for as long as it is there.
  bool tells_view(const Message& message) const {
    return message.kind == MessageKind::heartbeat ||
           (message.kind == MessageKind::leave && is_server(message.from));
  }

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

void tell_view(World& world, NodeId node, const std::shared_ptr<const View>& view) {
  if (view) send_view(world, node, World::scheduler, MessageKind::view, view);
}

Message join(World& world, NodeId node, const std::function<void(Message)>& others) {
  Backoff backoff(world.retry());
  for (;;) {
    world.network.send_once({.kind = MessageKind::join,
                             .from = node,
                             .to = World::scheduler,
                             .number = world.network.incarnation(node)});
    if (!world.scenario.may_fail()) return world.network.receive(node);
    const double until = Agenda::now() + backoff.next();
    while (std::optional<Message> answer = world.network.receive_until(node, until)) {
      if (answer->kind == MessageKind::start) return std::move(*answer);
      if (others) others(std::move(*answer));
    }
    if (!world.watch->is_hopeless() && backoff.gives_up()) world.watch->give_up(node);
  }
}

// A worker that has done its steps has no heartbeat: when everybody else is down, only this loop can see that
// nobody will answer.
void leave(World& world, NodeId node) {
  Backoff backoff(world.retry());
  for (;;) {
    world.network.send_once({.kind = MessageKind::leave,
                             .from = node,
                             .to = World::scheduler,
                             .number = world.network.incarnation(node)});
    if (!world.scenario.may_fail()) return;
    const double until = Agenda::now() + backoff.next();
    while (const std::optional<Message> answer = world.network.receive_until(node, until)) {
      if (answer->kind == MessageKind::ack && answer->from == World::scheduler) return;
    }
    if (!world.watch->is_hopeless() && backoff.gives_up()) world.watch->give_up(node);
  }
}

}  // namespace psim
