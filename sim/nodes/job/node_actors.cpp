#include "sim/nodes/job/node_actors.hpp"

#include <fmt/format.h>
#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/base/random.hpp"
#include "sim/nodes/scheduler/scheduler_actor.hpp"
#include "sim/nodes/server/storage.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {

NodeActors::NodeActors(JobContext& job, const Platform& platform)
    : job_(job),
      actors_(platform, job.cpus, job.network, job.recorder),
      nodes_(job),
      heartbeats_(job, nodes_, [this](NodeId node) { restart(node); }),
      by_node_(platform.hosts.size()) {}

void NodeActors::start(const std::shared_ptr<Values>& weights, const std::vector<JobContext*>& jobs) {
  const JobPlan& plan = job_.plan;
  nodes_.make(weights);
  for (const NodeId node : plan.absent) {
    const bool is_of_all = jobs.front() == &job_ && node < plan.first_worker();
    if (!is_of_all && !plan.is_worker(node)) continue;
    job_.network.take_down(node, [](const Message&) {});
    if (is_of_all) continue;
    job_.recorder.absent_at_first(node);
    job_.state.progress.is_absent(nodes_.worker_index(node));
  }
  const auto start_all = [this](NodeId from, NodeId to) {
    for (NodeId node = from; node < to; ++node) {
      if (job_.network.is_up(node)) start_first(node);
    }
  };
  jobs_ = jobs;
  const bool is_first = jobs.front() == &job_;
  if (is_first) start_all(0, plan.first_worker());
  if (plan.served) inference_ = std::make_unique<InferenceGroup>(job_, weights, actors_);
  if (is_first) start_all(plan.database(), first_inference_node(plan.cluster()));
  start_all(plan.first_worker(), plan.past_workers());
}

double NodeActors::startup_of(NodeId node) const {
  const JobPlan& plan = job_.plan;
  if (plan.is_server(node))
    return startup_seconds(plan.scenario, NodeRole::server, node - plan.first_server());
  return plan.is_worker(node) ? startup_seconds(plan.scenario, NodeRole::worker, nodes_.worker_index(node))
                              : 0;
}

// Where nothing fails, messages wait for a node that is not up yet, like a connection attempt that is
// repeated until the node accepts it. Where nodes may fail, such messages are lost and sent again.
void NodeActors::start_first(NodeId node) {
  job_.state.usage.turn_on(node, 0);
  const double delay = startup_of(node);
  if (!(delay > 0)) return start_node(node);
  const bool may_fail = job_.plan.scenario.may_fail();
  if (may_fail) job_.network.take_down(node, [](const Message&) {});
  if (job_.plan.is_worker(node)) job_.recorder.absent_at_first(node);
  job_.state.progress.starts(node);
  job_.agenda.at(delay, [this, node, may_fail] {
    if (!job_.state.progress.take_start(node)) return;
    if (may_fail) job_.network.bring_up(node);
    start_node(node);
  });
}

void NodeActors::start_spare(NodeId node) {
  job_.state.usage.turn_on(node, Agenda::now());
  job_.state.progress.starts(node);
  job_.agenda.at(Agenda::now() + startup_of(node), [this, node] {
    if (!job_.state.progress.take_start(node)) return;
    restart(node);
  });
}

void NodeActors::act_for(NodeActors& other) {
  parts_.push_back(&other);
  for (std::size_t s = 0; s < nodes_.servers().size(); ++s)
    nodes_.servers()[s]->act_for(*other.nodes_.servers()[s]);
}

void NodeActors::on_arrival(const Message& message) {
  if (nodes_.peers() != nullptr) return nodes_.peers()->on_arrival(message);
  if (job_.plan.tasks && job_.plan.is_worker(message.to)) return;  // no message stops a task
  if (job_.plan.is_worker(message.to)) nodes_.worker(message.to).on_arrival(message);
  else if (inference_ && inference_->has(message.to)) inference_->on_arrival(message);
}

void NodeActors::start_node(NodeId node) {
  if (inference_ && inference_->has(node)) return inference_->start(node);
  const Scenario& scenario = job_.plan.scenario;
  const bool is_worker = job_.plan.is_worker(node);
  // SimGrid kills daemons as soon as only daemons are left, for example while all nodes are down.
  const bool is_daemon = !is_worker && node != scheduler_node && !scenario.may_fail();
  const std::string name = is_worker
                               ? fmt::format("worker {}", job_.plan.first_index + nodes_.worker_index(node))
                               : node_name(job_.plan.cluster(), node);
  by_node_[node] = actors_.spawn(name, node, is_daemon, [this, node] { run(node); });
  if (scenario.may_fail() && (job_.plan.is_server(node) || is_worker)) heartbeats_.begin(node);
}

void NodeActors::run(NodeId node) {
  if (job_.plan.is_server(node)) nodes_.server(node).run();
  else if (job_.plan.is_worker(node) && nodes_.peers() != nullptr)
    nodes_.peers()->run(nodes_.worker_index(node));
  else if (job_.plan.is_worker(node) && job_.plan.tasks) nodes_.task_worker(node)->run(actors_);
  else if (job_.plan.is_worker(node)) nodes_.worker(node).run();
  else if (node == scheduler_node) run_scheduler(jobs_);
  else if (node == database_node(job_.plan.cluster())) run_database(job_);
  else run_storage(job_);
}

std::optional<InferenceStats> NodeActors::finish_inference(double end) {
  if (!inference_) return std::nullopt;
  return inference_->finish(end);
}

void NodeActors::end(double date) {
  for (NodeId node = job_.plan.first_worker(); node < job_.plan.past_workers(); ++node) {
    job_.state.progress.take_start(node);
    kill(node);
    job_.network.take_down(node, [](const Message&) {});
    job_.recorder.stop(node, date);
  }
  for (const auto& server : nodes_.servers()) server->shards().end();
}

void NodeActors::kill(NodeId node) {
  if (inference_ && inference_->has(node)) return inference_->kill(node);
  if (by_node_[node]) by_node_[node]->kill();  // otherwise it has never run
}

bool NodeActors::crash(NodeId node) {
  if (PSIM_PROBE(!job_.network.is_up(node), "a crash meets a node that is down")) return false;
  kill(node);
  job_.network.take_down(node, [this](const Message& message) {
    for (NodeActors* part : parts_) {
      if (message.is<Push>() && part->job_.plan.has_shard(message.shard)) part->discard(message);
    }
  });
  lose(node);
  if (job_.plan.is_worker(node)) job_.record(node, Computation{.phase = ComputePhase::killed});
  return true;
}

// The node's memory is lost. A server loses its data of every job.
void NodeActors::lose(NodeId node) {
  if (!job_.plan.is_server(node)) return nodes_.make_again(node);
  for (NodeActors* part : parts_) {
    part->nodes_.server(node).discard_rest();
    part->nodes_.make_again(node);
    if (part != this) nodes_.server(node).act_for(part->nodes_.server(node));
  }
}

bool NodeActors::lose_disk(NodeId node) {
  if (node != storage_node(job_.plan.cluster())) return false;
  return job_.state.disk.lose();
}

bool NodeActors::leave(NodeId node) {
  if (PSIM_PROBE(!job_.network.is_up(node), "a node is to leave while it is down")) return false;
  if (nodes_.peers() != nullptr) {
    nodes_.peers()->leave_soon(nodes_.worker_index(node));
    return true;
  }
  if (node >= job_.plan.first_worker()) {
    nodes_.worker(node).leave_soon();
    return true;
  }
  nodes_.server(node).leave_soon();
  heartbeats_.send(node);
  return true;
}

bool NodeActors::has_left(NodeId node) const {
  if (nodes_.peers() != nullptr && job_.plan.is_worker(node))
    return job_.state.progress.has_left(nodes_.worker_index(node));
  if (job_.plan.is_worker(node)) return nodes_.worker(node).is_through();
  if (!job_.plan.is_server(node) || !nodes_.server(node).is_leaving()) return false;
  // A server must not stop while the next owner may still ask it for the shard. A node that is down does not
  // ask, unless it comes back.
  return std::ranges::all_of(parts_, [this, node](const NodeActors* part) {
    return part->nodes_.server(node).has_given_all([this, part](std::uint32_t shard, const Owner& owner) {
      const ShardServer* there = part->nodes_.server(owner.primary).shards().find(shard);
      const bool leads = there != nullptr && there->leads() && there->epoch() >= owner.epoch;
      PSIM_PROBE(!leads && !job_.network.is_up(owner.primary), "a server hands over to one that is down");
      return leads || !(job_.network.is_up(owner.primary) || job_.run.comes_back(owner.primary));
    });
  });
}

bool NodeActors::is_leaving(NodeId node) const {
  if (nodes_.peers() != nullptr && job_.plan.is_worker(node)) {
    const std::uint32_t index = nodes_.worker_index(node);
    return nodes_.peers()->is_leaving(index) && !job_.state.progress.has_completed(index) && !has_left(node);
  }
  if (job_.plan.is_worker(node)) return nodes_.worker(node).is_leaving();
  return job_.plan.is_server(node) && nodes_.server(node).is_leaving() && !has_left(node);
}

bool NodeActors::restart(NodeId node) {
  if (PSIM_PROBE(job_.state.progress.is_starting(node), "a node is started while it starts")) return false;
  if (job_.plan.is_worker(node) && job_.state.progress.is_over())
    return false;  // it has nothing to do any more
  if (job_.network.is_up(node)) {
    if (PSIM_PROBE(is_leaving(node), "a node joins again before it has left")) {
      const double later = Agenda::now() + job_.plan.scenario.recovery.heartbeat.value;
      job_.agenda.at(later, [this, node] { restart(node); });
      return true;
    }
    if (PSIM_PROBE(!has_left(node), "a node is started that is there")) return false;
    crash(node);
  }
  job_.network.bring_up(node);
  job_.state.usage.turn_on(node, Agenda::now());
  if (job_.plan.is_worker(node)) job_.state.progress.comes(nodes_.worker_index(node));
  start_node(node);
  return true;
}

void NodeActors::discard(const Message& message) {
  nodes_.server(message.to).shards().discard(message.shard - job_.plan.first_shard, *message.as<Push>());
}

void NodeActors::discard_rest() {
  for (const auto& server : nodes_.servers()) server->discard_rest();
}

// Heartbeats of different nodes fall on different dates.
void Heartbeats::begin(NodeId node) {
  const double first =
      Stream(static_cast<std::uint64_t>(job_.plan.scenario.seed), "heartbeat", node, 0).uniform();
  const std::uint32_t incarnation = job_.network.incarnation(node);
  beat(node, incarnation, Agenda::now() + first * job_.plan.scenario.recovery.heartbeat.value, 0);
}

// A heartbeat says which view the node knows. Heartbeats go on during this incarnation of the node. Each look
// at the network is work for the machine. So, when a heartbeat has been on its way for several intervals, the
// node looks less and less often whether it is still on its way.
void Heartbeats::beat(NodeId node, std::uint32_t incarnation, double date, int in_vain) {
  job_.agenda.at(date, [this, node, incarnation, date, in_vain] {
    if (!job_.network.is_up(node) || job_.network.incarnation(node) != incarnation) return;
    const bool is_peer = nodes_.peers() != nullptr && job_.plan.is_worker(node);
    const auto has_gone = [this](std::uint32_t index) {
      return job_.state.progress.has_completed(index) || job_.state.progress.has_left(index);
    };
    if (is_peer && has_gone(nodes_.worker_index(node))) return;
    const Worker* worker = job_.plan.is_worker(node) && !is_peer ? &nodes_.worker(node) : nullptr;
    if (worker && worker->is_through() && !worker->stays()) return;
    if (worker && worker->is_needed()) {
      restart_(node);
      return;
    }
    const bool is_sent = PSIM_PROBE(job_.network.is_held(node), "a frozen node is silent") ||
                         send(node);  // the node may be frozen
    if (job_.run.is_hopeless()) return;
    constexpr int patient = 8;
    PSIM_PROBE(!is_sent, "a heartbeat is still on its way when the next is due");
    const int now_in_vain = is_sent ? 0 : in_vain + 1;
    const double intervals = std::ldexp(1.0, std::max(0, now_in_vain - patient));
    beat(node, incarnation, date + intervals * job_.plan.scenario.recovery.heartbeat.value, now_in_vain);
  });
}

bool Heartbeats::send(NodeId node) {
  Body body;
  const std::int64_t life = job_.network.incarnation(node);
  if (job_.plan.is_worker(node) && nodes_.peers() != nullptr) {
    const std::uint32_t index = nodes_.worker_index(node);
    body = Heartbeat{.life = life,
                     .view = nodes_.peers()->view(index),
                     .is_through = job_.state.progress.has_completed(index)};
  } else if (job_.plan.is_worker(node)) {
    const Worker& worker = nodes_.worker(node);
    body = Heartbeat{.life = life, .view = worker.view(), .is_through = worker.is_through()};
  } else if (const ServerActor& server = nodes_.server(node); server.is_leaving()) {
    body = Leave{.life = life, .view = server.shards().view()};
  } else {
    body = Heartbeat{.life = life, .view = server.shards().view(), .loads = server.shards().loads()};
  }
  // A heartbeat on its way says the same. More heartbeats would only fill the links.
  return job_.network.send_once({.from = node, .to = scheduler_node, .body = body});
}

}  // namespace psim
