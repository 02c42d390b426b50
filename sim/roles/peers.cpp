#include "sim/roles/peers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/roles/all_reduce.hpp"
#include "sim/roles/pipeline.hpp"
#include "sim/scenario/checking/check.hpp"

namespace psim {

std::unique_ptr<Peers> make_peers(JobContext& job, const Values* weights) {
  if (job.plan.scenario.architecture.kind == Architecture::all_reduce)
    return std::make_unique<AllReduce>(job, weights);
  return std::make_unique<Pipeline>(job, weights);
}

Replica::Replica(const JobContext& job, const Values* initial, Range range)
    : job_(job), range_(range), rate_(job.plan.learning_rate()) {
  if (!initial) return;
  parameters_ = Parameters(job.plan.scenario.training.optimizer, job.plan.storage(),
                           Values::copy_of(*initial, range.begin, range.count));
}

void Replica::update(Slice gradient, double weight) {
  const double rate = rate_.at(job_.plan.epochs().after(static_cast<double>(version_)));
  ++version_;
  if (parameters_) parameters_.update(std::array{WeightedGradient{std::move(gradient), weight}}, rate);
}

Message Mailbox::take(MessageKind kind, NodeId from, std::int64_t clock, std::int64_t number) {
  const auto wanted = [&](const Message& m) {
    const MessageFacts facts = facts_of(m.body);
    return facts.kind == kind && m.from == from && facts.clock.value_or(0) == clock &&
           facts.number().value_or(0) == number;
  };
  const double since = Agenda::now();
  for (;;) {
    if (const auto found = std::ranges::find_if(early_, wanted); found != early_.end()) {
      Message message = std::move(*found);
      early_.erase(found);
      if (kind != MessageKind::start) record_wait(job_, node_, Awaited::peers, since, clock, Heard(message));
      return message;
    }
    early_.push_back(job_.network.receive(node_));
  }
}

void enter(JobContext& job, NodeId node, Mailbox& mailbox) {
  job.network.send({.from = node, .to = scheduler_node, .body = Join{}});
  mailbox.take(MessageKind::start, scheduler_node, 0, 0);
}

void leave(JobContext& job, NodeId node, std::int64_t clock) {
  job.record(node, Finish{clock});
  job.state.last_finish = Agenda::now();
  job.state.completed[node - job.plan.first_worker()] = true;
  job.network.send({.from = node, .to = scheduler_node, .body = Leave{}});
}

double flops_of_step(const JobContext& job, std::uint32_t index, std::int64_t step) {
  const double mean =
      mean_step_seconds(job.plan.scenario, index) * job.plan.scenario.cluster.worker.speed.of(index).value;
  return mean * job.slowness.of_step(index, step);
}

}  // namespace psim
