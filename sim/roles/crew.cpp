#include "sim/roles/crew.hpp"

#include <fmt/format.h>
#include <simgrid/Exception.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "model/random.hpp"
#include "sim/cluster/simgrid_version.hpp"
#include "sim/roles/database.hpp"
#include "sim/roles/scheduler.hpp"
#include "sim/roles/storage.hpp"

namespace sg4 = simgrid::s4u;

namespace psim {

std::vector<NodeId> absent_at_first(const Scenario& scenario) {
  std::set<NodeId> absent, seen;
  for (const FaultSpec& fault : scenario.faults) {
    if (!fault.kind->joins && !fault.kind->leaves) continue;
    for (const NodeId node : fault_nodes(scenario.cluster, fault.nodes)) {
      if (fault.kind->leaves) seen.insert(node);
      else absent.insert(node);
    }
  }
  for (const NodeId node : seen) absent.erase(node);
  return {absent.begin(), absent.end()};
}

void Crew::start(const std::shared_ptr<Values>& weights, const std::vector<World*>& worlds) {
  actors_.resize(platform_.hosts.size());
  if (world_.scenario.architecture.has_servers()) {
    for (std::uint32_t s = 0; s < world_.servers(); ++s)
      servers_.push_back(std::make_unique<ServerRole>(world_, s));
    for (std::uint32_t s = 0; s < world_.keys.shards.size(); ++s) {
      const Slice part = world_.part_of(s, weights);
      std::optional<Values> own;
      if (part.values) own = Values::copy_of(*part.values, part.begin, part.count);
      servers_[world_.keys.shards[s].server]->own(s, std::move(own));
    }
    for (std::uint32_t w = 0; w < world_.workers(); ++w)
      workers_.push_back(std::make_unique<Worker>(world_, world_.first_worker() + w));
  } else {
    peers_ = make_peers(world_, weights.get());
  }
  samples_before_.resize(world_.workers());
  for (const NodeId node : world_.absent) {
    world_.network.take_down(node, [](const Message&) {});
    if (!is_worker(node)) continue;
    world_.recorder.absent_at_first(node);
    world_.left_early[worker_index(node)] = true;
  }
  const auto start_all = [this](NodeId from, NodeId to) {
    for (NodeId node = from; node < to; ++node) {
      if (world_.network.is_up(node)) start_node(node);
    }
  };
  worlds_ = worlds;
  if (worlds.front() != &world_) return start_all(world_.first_worker(), world_.database());
  start_all(0, world_.first_worker());
  start_inference(weights);
  start_all(world_.database(), first_inference_node(world_.scenario.cluster));
  start_all(world_.first_worker(), world_.database());
}

void Crew::act_for(Crew& other) {
  for (std::size_t s = 0; s < servers_.size(); ++s) servers_[s]->act_for(*other.servers_[s]);
}

void Crew::on_arrival(const Message& message) {
  if (peers_) return peers_->on_arrival(message);
  if (message.to < world_.first_worker()) return;
  if (message.to < world_.database()) workers_[worker_index(message.to)]->on_arrival(message);
  else if (inference_) inference_->on_arrival(message);
}

void Crew::start_node(NodeId node) {
  const ClusterSpec& cluster = world_.scenario.cluster;
  // SimGrid kills daemons as soon as nobody else is there, as when all nodes are down for a while.
  const bool is_daemon = !is_worker(node) && node != World::scheduler && !world_.scenario.may_fail();
  const std::string name = is_worker(node) ? fmt::format("worker {}", world_.first_index + worker_index(node))
                                           : node_name(cluster, node);
  actors_[node] = spawn(name, node, is_daemon, [this, node] {
    if (is_server(node)) servers_[server_index(node)]->run();
    else if (is_worker(node) && peers_) peers_->run(worker_index(node));
    else if (is_worker(node)) workers_[worker_index(node)]->run();
    else if (node == World::scheduler) run_scheduler(worlds_);
    else if (node == database_node(world_.scenario.cluster)) run_database(world_);
    else run_storage(world_);
  });
  if (!world_.scenario.may_fail() || (!is_server(node) && !is_worker(node))) return;
  // Heartbeats of different nodes fall on different dates.
  const double first =
      Stream(static_cast<std::uint64_t>(world_.scenario.seed), "heartbeat", node, 0).uniform();
  const std::uint32_t incarnation = world_.network.incarnation(node);
  beat(node, incarnation, Agenda::now() + first * world_.scenario.recovery.heartbeat.value);
}

// An exception that left an actor would abort the process; it is kept, and thrown when the engine is back.
// SimGrid lets an actor that is killed at its first date run until it first waits; a node that is down must
// not even begin.
sg4::ActorPtr Crew::spawn(const std::string& name, NodeId node, bool daemon, std::function<void()> body) {
  const std::uint32_t incarnation = world_.network.incarnation(node);
  auto guarded = [this, node, incarnation, body = std::move(body)] {
    if (!world_.network.is_up(node) || world_.network.incarnation(node) != incarnation) return;
    try {
      body();
    } catch (const simgrid::ForcefulKillException&) {
      throw;
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
      sg4::Actor::kill_all();
    }
  };
  const sg4::ActorPtr actor = add_actor(name, platform_.hosts[node], std::move(guarded));
  if (daemon) actor->daemonize();
  return actor;
}

void Crew::start_inference(const std::shared_ptr<Values>& weights) {
  if (!world_.scenario.cluster.inference.given) return;
  inference_ = std::make_unique<InferenceGroup>(world_, weights);
  for (const auto& node : inference_->nodes()) {
    const std::string name = node_name(world_.scenario.cluster, node->id());
    serving_.push_back(spawn(name + " pulls", node->id(), true, [&node] { node->run_pulls(); }));
    serving_.push_back(spawn(name + " answers", node->id(), true, [&node] { node->run_answers(); }));
  }
  watch_inference(1);
}

// Requests come for ever; when workers and servers are stuck, they must not keep the clock running.
void Crew::watch_inference(std::int64_t turn) {
  const double date = static_cast<double>(turn) * world_.scenario.cluster.inference.refresh.value;
  world_.agenda.at(date, [this, turn] {
    if (!world_.watch->is_stuck()) return watch_inference(turn + 1);
    for (const sg4::ActorPtr& actor : serving_) actor->kill();
  });
}

std::optional<InferenceStats> Crew::finish_inference(double end) {
  if (!inference_) return std::nullopt;
  return inference_->finish(end);
}

// As long as the node is what it was; it says which view it knows. When one heartbeat has been on its way
// for several intervals, the node looks less and less often whether it still is: each look is work for the
// machine.
void Crew::beat(NodeId node, std::uint32_t incarnation, double date, int in_vain) {
  world_.agenda.at(date, [this, node, incarnation, date, in_vain] {
    if (!world_.network.is_up(node) || world_.network.incarnation(node) != incarnation) return;
    const Worker* worker = is_worker(node) ? workers_[worker_index(node)].get() : nullptr;
    if (worker && worker->is_through() && !worker->stays()) return;
    if (worker && worker->is_needed()) {
      restart(node);
      return;
    }
    const bool is_sent = world_.network.is_held(node) || send_heartbeat(node);  // it may be frozen
    if (world_.watch->is_hopeless()) return;
    constexpr int patient = 8;
    const int now_in_vain = is_sent ? 0 : in_vain + 1;
    const double intervals = std::ldexp(1.0, std::max(0, now_in_vain - patient));
    beat(node, incarnation, date + intervals * world_.scenario.recovery.heartbeat.value, now_in_vain);
  });
}

bool Crew::send_heartbeat(NodeId node) {
  Body body;
  const std::int64_t life = world_.network.incarnation(node);
  if (is_worker(node)) {
    const Worker& worker = *workers_[worker_index(node)];
    body = Heartbeat{.life = life, .view = worker.view(), .is_through = worker.is_through()};
  } else if (const ServerRole& server = *servers_[server_index(node)]; server.is_leaving()) {
    body = Leave{.life = life, .view = server.view()};
  } else {
    body = Heartbeat{.life = life, .view = server.view()};
  }
  // One that is still on its way says the same; more of them would only fill the links.
  return world_.network.send_once({.from = node, .to = World::scheduler, .body = body});
}

void Crew::end() {
  for (NodeId node = world_.first_worker(); node < world_.database(); ++node) {
    world_.network.let_go(node);
    actors_[node]->kill();
    world_.network.take_down(node, [](const Message&) {});
    world_.recorder.stop(node, Agenda::now());
  }
  for (const auto& server : servers_) server->end();
}

bool Crew::crash(NodeId node) {
  if (!world_.network.is_up(node)) return false;
  world_.network.let_go(node);
  actors_[node]->kill();
  world_.network.take_down(node, [this](const Message& message) {
    if (message.is<Push>()) discard(message);
  });
  if (is_server(node)) {
    ServerRole& server = *servers_[server_index(node)];
    server.discard_rest();
    servers_[server_index(node)] = std::make_unique<ServerRole>(world_, server_index(node));
  } else if (is_worker(node)) {
    samples_before_[worker_index(node)] += workers_[worker_index(node)]->samples_computed();
    workers_[worker_index(node)] = std::make_unique<Worker>(world_, node, true);
    world_.record(EventKind::compute_cancel, node, 0);
  }
  return true;
}

bool Crew::lose_disk(NodeId node) {
  if (node != storage_node(world_.scenario.cluster)) return false;
  return !std::exchange(world_.snapshots, {}).empty();
}

bool Crew::leave(NodeId node) {
  if (!world_.network.is_up(node)) return false;
  if (node >= world_.first_worker()) {
    workers_[worker_index(node)]->leave_soon();
    return true;
  }
  servers_[server_index(node)]->leave_soon();
  send_heartbeat(node);
  return true;
}

bool Crew::has_left(NodeId node) const {
  if (is_worker(node)) return workers_[worker_index(node)]->is_through();
  // A server must not stop while the next owner still asks it for the shard. One that is down does not ask,
  // unless it comes back.
  const auto has_got = [this](std::uint32_t shard, const Owner& owner) {
    const ShardServer* there = servers_[server_index(owner.primary)]->find(shard);
    const bool leads = there != nullptr && there->leads() && there->epoch() >= owner.epoch;
    return leads || !(world_.network.is_up(owner.primary) || world_.watch->comes_back(owner.primary));
  };
  return is_server(node) && servers_[server_index(node)]->has_left(has_got);
}

bool Crew::is_leaving(NodeId node) const {
  if (is_worker(node)) return workers_[worker_index(node)]->is_leaving();
  return is_server(node) && servers_[server_index(node)]->is_leaving() && !has_left(node);
}

bool Crew::restart(NodeId node) {
  if (world_.network.is_up(node)) {
    if (is_leaving(node)) {  // it goes first
      const double later = Agenda::now() + world_.scenario.recovery.heartbeat.value;
      world_.agenda.at(later, [this, node] { restart(node); });
      return true;
    }
    if (!has_left(node)) return false;
    crash(node);
  }
  world_.network.bring_up(node);
  if (is_worker(node)) world_.left_early[worker_index(node)] = false;
  start_node(node);
  return true;
}

// Two may believe that they own it; the later one does.
const ShardServer* Crew::owner_of(std::uint32_t shard) const {
  const ShardServer* owner = nullptr;
  for (const auto& server : servers_) {
    const ShardServer* here = server->find(shard);
    if (here != nullptr && here->leads() && (owner == nullptr || here->epoch() > owner->epoch()))
      owner = here;
  }
  return owner;
}

// While a shard goes from one owner to the next nobody owns it, but somebody has it.
const ShardServer* Crew::best_of(std::uint32_t shard) const {
  const ShardServer* best = owner_of(shard);
  if (best != nullptr) return best;
  for (const auto& server : servers_) {
    const ShardServer* here = server->find(shard);
    if (here != nullptr && (best == nullptr || here->version() > best->version())) best = here;
  }
  return best;
}

std::vector<Slice> Crew::weights() const {
  if (peers_) return peers_->weights();
  std::vector<Slice> parts;
  for (std::uint32_t s = 0; s < world_.keys.shards.size(); ++s) {
    const ShardServer* state =
        world_.scenario.may_fail() ? best_of(s) : servers_[world_.keys.shards[s].server]->find(s);
    parts.push_back(state != nullptr ? state->state().snapshot() : world_.last_weights[s].weights);
  }
  return parts;
}

// What is the same of many shards is said once, and of thousands of workers only the first are named.
std::vector<std::string> Crew::who_waits() const {
  constexpr std::size_t most = 20;
  std::vector<std::string> lines;
  std::set<std::string> known;
  const auto say = [&](std::string line) {
    if (known.insert(line).second && known.size() <= most) lines.push_back(std::move(line));
  };
  for (std::uint32_t s = 0; !peers_ && s < world_.keys.shards.size(); ++s) {
    const ShardServer* server = owner_of(s);
    if (server == nullptr) {
      say(fmt::format("at {:.6g} s nobody owns shard {}", Agenda::now(), world_.first_shard + s));
      continue;
    }
    for (const auto& [worker, pull] : server->waiting()) {
      say(fmt::format(
          "at {:.6g} s worker {} waits for server {} to let it start clock {}; the server has version {}, "
          "{} pushes of its next update, and the slowest worker at clock {}",
          Agenda::now(), world_.first_index + worker, server_index(server->id()), pull.clock,
          server->version(), server->pending().size(), server->state().workers.slowest()));
    }
  }
  const bool nobody_hears = !world_.network.is_up(World::scheduler);
  for (std::uint32_t w = 0; nobody_hears && w < workers_.size(); ++w) {
    if (workers_[w]->is_through())
      say(fmt::format(
          "at {:.6g} s worker {} has done its steps, and the scheduler, which is to hear it, is down",
          Agenda::now(), world_.first_index + w));
  }
  if (known.size() > most) lines.push_back(fmt::format("and {} more of this kind", known.size() - most));
  return lines;
}

std::vector<ServerRanges> Crew::server_ranges() const {
  std::vector<ServerRanges> ranges;
  for (const auto& server : servers_) ranges.push_back(server->ranges());
  return ranges;
}

void Crew::discard(const Message& message) {
  servers_[server_index(message.to)]->discard(message.shard - world_.first_shard, *message.as<Push>());
}

void Crew::discard_rest() {
  for (const auto& server : servers_) server->discard_rest();
}

}  // namespace psim
