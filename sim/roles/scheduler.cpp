#include "sim/roles/scheduler.hpp"

#include <utility>

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

void run_without_failures(World& world) {
  const std::uint32_t members = world.servers() + world.workers();
  for (std::uint32_t i = 0; i < members; ++i) world.network.receive(World::scheduler);  // join
  for (NodeId node = 1; node <= members; ++node) {
    world.network.send({.kind = MessageKind::start, .from = World::scheduler, .to = node});
  }
  Balancer balancer(world.scenario.training.batch_size * world.workers(), world.workers(),
                    world.scenario.training.work_smoothing);
  for (std::uint32_t left = 0; left < world.workers();) {
    const Message message = world.network.receive(World::scheduler);
    if (message.kind == MessageKind::leave) ++left;
    else if (const auto sizes = balancer.report(message.from - world.first_worker(), message.seconds))
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
                  .absent = world.absent},
                 world.keys.servers()),
        here_(1 + world.servers() + world.workers()) {}

  void run() {
    while (!is_over()) {
      const std::int64_t before = manager_.view().number;
      const std::optional<double> suspicion = started_ ? manager_.next_suspicion() : std::nullopt;
      const std::optional<Message> message = suspicion
                                                 ? world_.network.receive_until(World::scheduler, *suspicion)
                                                 : world_.network.receive(World::scheduler);
      if (message) on(*message);
      else suspect();
      if (manager_.view().number > before) announce();
    }
  }

 private:
  // When some worker is through, the others do not wait for one that is gone.
  bool is_over() const {
    bool one_is_through = false;
    for (NodeId node = world_.first_worker(); node < here_.size(); ++node) {
      if (here_[node].left) one_is_through = true;
      else if (manager_.is_up(node)) return false;
    }
    return started_ && one_is_through;
  }

  void on(const Message& message) {
    const NodeId node = message.from;
    if (message.kind == MessageKind::join) {
      here_[node] = {.joined = true, .left = false};
      manager_.heard(node, static_cast<std::uint32_t>(message.number), Agenda::now());
      return start(node);
    }
    if (!here_[node].left) manager_.heard(node, static_cast<std::uint32_t>(message.number), Agenda::now());
    if (message.kind == MessageKind::heartbeat && started_ && message.version < manager_.view().number)
      tell(node, MessageKind::view);
    if (message.kind != MessageKind::leave) return;
    world_.network.send({.kind = MessageKind::ack, .from = World::scheduler, .to = node});
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

  void suspect() {
    for (const NodeId node : manager_.suspect(Agenda::now()))
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
    world_.network.send({.kind = kind,
                         .from = World::scheduler,
                         .to = node,
                         .version = view_->number,
                         .payload = view_->bytes(),
                         .attached = std::make_shared<const Attachment>(Attachment{.view = view_})});
  }

  bool is_server(NodeId node) const { return node > 0 && node <= world_.servers(); }

  struct Member {
    bool joined = false, left = false;
  };
  World& world_;
  Manager manager_;
  std::vector<Member> here_;  // by node
  bool started_ = false;
  std::shared_ptr<const View> view_;
};

}  // namespace

void run_scheduler(World& world) {
  if (world.scenario.may_fail()) Watch(world).run();
  else run_without_failures(world);
  world.on_end();
}

Message join(World& world, NodeId node, const std::function<void(Message)>& others) {
  for (;;) {
    world.network.send({.kind = MessageKind::join,
                        .from = node,
                        .to = World::scheduler,
                        .number = world.network.incarnation(node)});
    if (!world.scenario.may_fail()) return world.network.receive(node);
    const double until = Agenda::now() + world.retry().timeout;
    while (std::optional<Message> answer = world.network.receive_until(node, until)) {
      if (answer->kind == MessageKind::start) return std::move(*answer);
      if (others) others(std::move(*answer));
    }
  }
}

void leave(World& world, NodeId node) {
  for (;;) {
    world.network.send({.kind = MessageKind::leave,
                        .from = node,
                        .to = World::scheduler,
                        .number = world.network.incarnation(node)});
    if (!world.scenario.may_fail()) return;
    const double until = Agenda::now() + world.retry().timeout;
    while (const std::optional<Message> answer = world.network.receive_until(node, until)) {
      if (answer->kind == MessageKind::ack && answer->from == World::scheduler) return;
    }
  }
}

}  // namespace psim
