#include "sim/nodes/job/node_actors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "model/base/random.hpp"
#include "sim/nodes/scheduler/scheduler_actor.hpp"
#include "sim/nodes/server/storage.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

void JobNodes::make(const std::shared_ptr<Values>& weights) {
  const JobPlan& plan = job_.plan;
  samples_before_.resize(plan.workers());
  if (!plan.scenario.architecture.has_servers()) {
    peers_ = make_peers(job_, weights.get());
    return;
  }
  for (std::uint32_t s = 0; s < plan.servers(); ++s)
    servers_.push_back(std::make_unique<ServerActor>(job_, s));
  for (std::uint32_t s = 0; s < plan.keys.shards.size(); ++s) {
    const Slice part = JobPlan::part_of(plan.keys.shards[s], weights);
    std::optional<Values> own;
    if (part.values) own = Values::copy_of(*part.values, part.begin, part.count);
    servers_[plan.keys.shards[s].server]->shards().own(s, std::move(own));
  }
  for (NodeId node = plan.first_worker(); node < plan.past_workers(); ++node) {
    if (plan.tasks) task_workers_.push_back(std::make_unique<TaskWorker>(job_, node));
    else
      workers_.push_back(
          std::make_unique<Worker>(job_, node, plan.warms_up_before_servers() ? weights : nullptr));
  }
}

void JobNodes::make_again(NodeId node) {
  if (job_.plan.is_server(node)) {
    const std::uint32_t index = node - job_.plan.first_server();
    servers_[index] = std::make_unique<ServerActor>(job_, index);
  } else if (peers_ && job_.plan.is_worker(node)) {
    peers_->lose(worker_index(node));
  } else if (job_.plan.is_worker(node)) {
    samples_before_[worker_index(node)] += worker(node).source().samples_computed();
    workers_[worker_index(node)] = std::make_unique<Worker>(job_, node, nullptr, true);
  }
}

// A server that has not heard of a cut yet holds both parts under one number.
const ShardServer* JobNodes::holder_in(const ServerShards& server, std::uint32_t shard, const Part& part) {
  const ShardServer* here = server.find(shard);
  if (here != nullptr) return here->state().options.part.covers(part) ? here : nullptr;
  for (const auto& [number, other] : server.all()) {
    if (other.state().options.part.covers(part)) return &other;
  }
  return nullptr;
}

// Two servers may believe that they own the shard. The owner of the later epoch does.
const ShardServer* JobNodes::owner_of(std::uint32_t shard) const {
  const ShardServer* owner = nullptr;
  for (const auto& server : servers_) {
    const ShardServer* here = holder_in(server->shards(), shard, keys().shards[shard].part);
    if (here != nullptr && here->leads() && (owner == nullptr || here->epoch() > owner->epoch()))
      owner = here;
  }
  return owner;
}

// While a shard moves between owners it has no owner, but a server still holds it.
const ShardServer* JobNodes::best_of(std::uint32_t shard) const {
  const ShardServer* best = owner_of(shard);
  if (best != nullptr) return best;
  for (const auto& server : servers_) {
    const ShardServer* here = holder_in(server->shards(), shard, keys().shards[shard].part);
    if (here != nullptr && (best == nullptr || here->version() > best->version())) best = here;
  }
  return best;
}

std::vector<Slice> JobNodes::weights() const {
  if (peers_) return peers_->weights();
  std::vector<Slice> parts;
  for (std::uint32_t s = 0; s < keys().shards.size(); ++s) {
    const ShardServer* best = best_of(s);
    if (best == nullptr) {
      parts.push_back(job_.state.last_weights.of(s));
      continue;
    }
    const ShardState& state = best->state();
    parts.push_back(part_of(state.snapshot(), state.options.part.place_of(keys().shards[s].part)));
  }
  return parts;
}

// Empty if the scheduler has started all nodes.
std::string JobNodes::who_joins() const {
  std::int64_t servers = 0, workers = 0;
  for (NodeId node = 0; node < job_.state.usage.nodes(); ++node) {
    if (!job_.state.progress.is_joining(node) || !job_.network.is_up(node)) continue;
    ++(job_.plan.is_server(node) ? servers : workers);
  }
  std::vector<std::string> who;
  if (servers > 0) who.push_back(counted(servers, "server"));
  if (workers > 0) who.push_back(counted(workers, "worker"));
  if (who.empty()) return {};
  return fmt::format("at {:.6g} s {} wait{} for the scheduler to start{}", Agenda::now(),
                     fmt::join(who, " and "), servers + workers == 1 ? "s" : "",
                     job_.network.is_up(scheduler_node) ? "" : ", and it is down");
}

// For the case that no node waits for another.
std::string JobNodes::who_is_down() const {
  constexpr std::size_t most = 8;
  std::vector<std::string> down;
  for (NodeId node = 0; node < job_.plan.past_workers(); ++node) {
    const bool is_of_job = node <= job_.plan.servers() || job_.plan.is_worker(node);
    if (is_of_job && !job_.network.is_up(node)) down.push_back(node_name(job_.plan.scenario.cluster, node));
  }
  if (down.empty()) return {};
  const std::size_t more = down.size() > most ? down.size() - most : 0;
  down.resize(down.size() - more);
  return fmt::format("at {:.6g} s {}{} {} down, and nothing starts {} again", Agenda::now(),
                     fmt::join(down, ", "), more > 0 ? fmt::format(" and {} more", more) : "",
                     down.size() == 1 ? "is" : "are", down.size() == 1 ? "it" : "them");
}

// Lists each line once, even if it is true for many shards. Of thousands of workers it names only the first.
std::vector<std::string> JobNodes::who_waits() const {
  constexpr std::size_t most = 20;
  std::vector<std::string> lines;
  std::set<std::string> known;
  const auto say = [&](std::string line) {
    if (known.insert(line).second && known.size() <= most) lines.push_back(std::move(line));
  };
  for (std::uint32_t s = 0; !peers_ && s < keys().shards.size(); ++s) {
    const ShardServer* server = owner_of(s);
    if (server == nullptr) {
      say(fmt::format("at {:.6g} s no server owns shard {}", Agenda::now(), job_.plan.first_shard + s));
      continue;
    }
    for (const auto& [worker, pull] : server->waiting()) {
      const ShardState& state = server->state();
      const StartView start = WaitingPulls::start_of(worker, pull, state, Agenda::now());
      const bool may_start = state.policy().may_start(start, state.memory);
      const std::string why_not = may_start ? "" : state.policy().why_not(start, state.memory),
                        why_no_update = state.policy().why_no_update(state.view(Agenda::now()), state.memory);
      say(fmt::format(
          "at {:.6g} s worker {} waits for server {} to let it start clock {}; the server has version {}, "
          "{} of its next update, and the slowest worker at clock {}{}{}{}{}",
          Agenda::now(), job_.plan.first_index + worker, server->id() - job_.plan.first_server(), pull.clock,
          server->version(), counted(std::ssize(server->pending()), "push"), state.workers.slowest(),
          why_not.empty() ? "" : "; ", why_not, why_no_update.empty() ? "" : "; ", why_no_update));
    }
  }
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    const Message* request = workers_[w]->requests().oldest();
    if (request == nullptr || !job_.network.is_up(request->from)) continue;
    say(fmt::format("at {:.6g} s worker {} waits for {} to answer its {}{}", Agenda::now(),
                    job_.plan.first_index + w, node_name(job_.plan.scenario.cluster, request->to),
                    name_of(kind_of(*request)), job_.network.is_up(request->to) ? "" : ", and it is down"));
  }
  for (std::string& line : peers_ ? peers_->who_waits() : std::vector<std::string>{}) say(std::move(line));
  if (std::string joins = who_joins(); !joins.empty()) say(std::move(joins));
  const bool nobody_hears = !job_.network.is_up(scheduler_node);
  for (std::uint32_t w = 0; nobody_hears && w < workers_.size(); ++w) {
    if (workers_[w]->is_through())
      say(fmt::format("at {:.6g} s worker {} has done its steps and must tell the scheduler, which is down",
                      Agenda::now(), job_.plan.first_index + w));
  }
  if (lines.empty()) {
    if (std::string down = who_is_down(); !down.empty()) say(std::move(down));
  }
  if (known.size() > most)
    lines.push_back(fmt::format("and {} like these",
                                counted(static_cast<std::int64_t>(known.size() - most), "more line")));
  return lines;
}

std::vector<ServerRanges> JobNodes::server_ranges() const {
  std::vector<ServerRanges> ranges;
  for (const auto& server : servers_) ranges.push_back(server->shards().ranges());
  return ranges;
}

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
