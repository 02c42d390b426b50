#include "sim/roles/worker.hpp"

#include <simgrid/Exception.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <utility>

#include "sim/scenario/check.hpp"

namespace psim {

Worker::Worker(World& world, NodeId node)
    : world_(world), node_(node), index_(node - world.first_worker()), servers_(world.servers()) {}

void Worker::run() {
  world_.network.send({.kind = MessageKind::join, .from = node_, .to = World::scheduler});
  world_.network.receive(node_);  // start
  while (pull()) {                // waits as long as the consistency model says
    if (compute()) push();        // real numbers; takes simulated time
  }
  world_.record(EventKind::finish, node_, clock_);
  world_.last_finish = Agenda::now();
  world_.network.send({.kind = MessageKind::leave, .from = node_, .to = World::scheduler});
}

bool Worker::pull() {
  const bool newer_only = world_.rule.gate == Gate::version;
  clock_ = world_.rule.fresh ? round() + 1 : steps_begun_;
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    Connection& server = servers_[s];
    // A pull that was sent ahead, to hear of a newer version, does if only a newer version will do.
    if (server.finished || (server.outstanding && newer_only)) continue;
    request(s, newer_only ? server.version : -1);
  }
  while (!all_answered()) handle(world_.network.receive(node_));
  const bool over = is_over();
  if (over) wait_for_all();
  if (world_.rule.fresh) clock_ = over ? world_.steps : round();
  return !over;
}

// Where all servers apply the same pushes, one that is through needs no more, and then no other does: each
// has, or will have, those that the last update takes. Where each server forms groups of its own, another
// may still need pushes.
bool Worker::is_over() const {
  const auto through = &Connection::finished;
  return world_.rule.servers_apart ? std::ranges::all_of(servers_, through)
                                   : std::ranges::any_of(servers_, through);
}

// What is left is to wait until all servers are through.
void Worker::wait_for_all() {
  while (!std::ranges::all_of(servers_, &Connection::finished)) {
    for (std::uint32_t s = 0; s < servers_.size(); ++s) {
      if (!servers_[s].finished && !servers_[s].outstanding) request(s, servers_[s].version);
    }
    handle(world_.network.receive(node_));
  }
}

bool Worker::compute() {
  namespace sg4 = simgrid::s4u;
  if (world_.rule.cancel) {
    for (std::uint32_t s = 0; s < servers_.size(); ++s) {
      if (!servers_[s].finished) request(s, servers_[s].version);
    }
  }
  world_.record(EventKind::compute_begin, node_, clock_, servers_[0].version);
  const Pool::Handle task = start_gradient();
  const sg4::ExecPtr exec = sg4::this_actor::exec_async(flops_of_step());
  ++steps_begun_;
  computing_ = world_.rule.cancel ? exec : nullptr;
  ++world_.busy;
  try {
    exec->wait();
  } catch (const simgrid::CancelException&) {
    --world_.busy;
    computing_ = nullptr;
    if (task) world_.pool.cancel(task);
    world_.record(EventKind::compute_cancel, node_, clock_, servers_[0].version);
    return false;
  }
  --world_.busy;
  computing_ = nullptr;
  if (task) world_.pool.wait(task);
  world_.record(EventKind::compute_end, node_, clock_, servers_[0].version);
  return true;
}

void Worker::push() {
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    if (servers_[s].finished) continue;
    const Range range = world_.range_of(s);
    world_.network.send({.kind = MessageKind::push,
                         .from = node_,
                         .to = world_.first_server() + s,
                         .clock = clock_,
                         .version = servers_[s].version,
                         .number = servers_[s].pushes++,
                         .pushed = 0,
                         .values = {gradient_, range.begin, range.count}});
  }
  gradient_.reset();
}

void Worker::on_arrival(const Message& message) {
  if (!computing_) return;
  const Connection& server = servers_[message.from - world_.first_server()];
  if (message.number == server.pulls) computing_->cancel();
}

void Worker::request(std::uint32_t s, std::int64_t above) {
  Connection& server = servers_[s];
  server.outstanding = true;
  world_.network.send({.kind = MessageKind::pull,
                       .from = node_,
                       .to = world_.first_server() + s,
                       .clock = clock_,
                       .version = above,
                       .number = ++server.pulls,
                       .pushed = server.pushes,
                       .values = {}});
}

void Worker::handle(Message message) {
  Connection& server = servers_[message.from - world_.first_server()];
  if (message.number != server.pulls) return;  // the answer to a pull that a later one replaced
  server.outstanding = false;
  server.version = message.version;
  server.finished = message.kind == MessageKind::finished;
  server.weights = std::move(message.values);
}

bool Worker::all_answered() const { return std::ranges::none_of(servers_, &Connection::outstanding); }

// Where only fresh pushes count, a worker's clock is the oldest version that it works on.
std::int64_t Worker::round() const {
  std::int64_t least = world_.steps;
  for (const Connection& server : servers_) {
    least = std::min(least, server.version);
  }
  return least;
}

double Worker::flops_of_step() const {
  const double mean =
      mean_step_seconds(world_.scenario, index_) * world_.scenario.cluster.worker.speed.of(index_).value;
  return mean * world_.slowness.of_step(index_, steps_begun_);
}

// The gradient depends on the pulled weights and the batch alone, so a thread may compute it at any time
// before simulated time has passed.
Pool::Handle Worker::start_gradient() {
  if (world_.learner == nullptr) return nullptr;
  std::vector<Slice> parts;
  for (Connection& server : servers_) {
    parts.push_back(server.finished ? server.weights : std::exchange(server.weights, {}));
  }
  gradient_ = std::make_shared<Values>();
  return world_.pool.submit([weights = world_.assemble(std::move(parts)), learner = world_.learner,
                             result = gradient_, batch = world_.sampler->batch(index_, steps_begun_)] {
    if (std::optional<Values> own = weights->take()) {
      learner->to_gradient(*own, batch);
      *result = std::move(*own);
    } else {
      *result = learner->gradient(weights->get(), batch);
    }
  });
}

}  // namespace psim
