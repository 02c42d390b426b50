#include "sim/nodes/job/heartbeats.hpp"

#include <algorithm>
#include <cmath>

#include "model/random.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {

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
