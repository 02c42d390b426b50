#include "sim/nodes/peers/peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/nodes/job/requests.hpp"
#include "sim/nodes/peers/all_reduce_worker.hpp"
#include "sim/nodes/peers/pipeline_worker.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

std::unique_ptr<Peers> make_peers(JobContext& job, const Values* weights) {
  if (job.plan.scenario.architecture.kind == Architecture::all_reduce)
    return std::make_unique<AllReduce>(job, weights);
  return std::make_unique<Pipeline>(job, weights);
}

Replica::Replica(const JobContext& job, const Values* initial, Range range)
    : job_(job), range_(range), rate_(job.plan.update_rate()) {
  if (!initial) return;
  parameters_ = Parameters(job.plan.with_arrays(job.plan.update_optimizer(), {range}), job.plan.storage(),
                           Values::copy_of(*initial, range.begin, range.count));
  first_ = Parameters(parameters_);
}

void Replica::update(Slice gradient, double weight) {
  const double rate = rate_.at(job_.plan.epochs().after(static_cast<double>(version_)));
  ++version_;
  if (parameters_) parameters_.update(std::array{WeightedGradient{std::move(gradient), weight}}, rate);
}

void Replica::adopt(const State& state) {
  version_ = state.version;
  parameters_ = Parameters(state.replica ? *state.replica : first_);
}

std::uint64_t Replica::bytes() const {
  return range_.count * bytes_per_value(job_.plan.precision()) +
         state_bytes(job_.plan.update_optimizer(), job_.plan.storage(), range_.count);
}

Start enter(JobContext& job, NodeId node, Mailbox& mailbox) {
  if (job.plan.scenario.may_fail())
    return join(job, node, [&](Message message) { mailbox.keep(std::move(message)); });
  job.network.send({.from = node, .to = scheduler_node, .body = Join{}});
  return *mailbox.take(MessageKind::start, scheduler_node, 0, 0).as<Start>();
}

void leave(JobContext& job, NodeId node, std::int64_t clock, Mailbox& mailbox, bool completes) {
  mailbox.flush();
  job.record(node, Finish{.clock = clock, .leaves = !completes});
  job.state.progress.finish(node - job.plan.first_worker(), completes, Agenda::now());
  leave(job, node);
}

bool meet(Mailbox& mailbox, std::span<const NodeId> nodes, std::int64_t version, std::int64_t round,
          bool must_agree) {
  const NodeId first = nodes.front();
  if (mailbox.node() != first) {
    mailbox.send(first, Standing{.version = version, .round = round});
    const Message answer = mailbox.take(MessageKind::regroup, first, 0, round);
    return answer.as<Regroup>()->version < 0;
  }
  bool goes_on = true;
  for (const NodeId node : nodes.subspan(1)) {
    const Message message = mailbox.take(MessageKind::standing, node, 0, round);
    if (must_agree && message.as<Standing>()->version != version) goes_on = false;
  }
  for (const NodeId node : nodes.subspan(1))
    mailbox.send(node, Regroup{.version = goes_on ? -1 : 0, .round = round});
  return goes_on;
}

bool is_whole(const JobContext& job, const SharedView& view) {
  return !view || std::ranges::count(view->workers, true) + job.state.progress.completed() >=
                      std::ptrdiff_t{job.plan.workers()};
}

std::string waits_for(const JobContext& job, const Mailbox& mailbox) {
  const std::optional<Mailbox::Wanted>& wanted = mailbox.wanted();
  if (mailbox.awaits_group() && job.network.is_up(mailbox.node()))
    return fmt::format("at {:.6g} s {} waits for a group that it can work in", Agenda::now(),
                       node_name(job.plan.scenario.cluster, mailbox.node()));
  if (!wanted || !job.network.is_up(mailbox.node())) return {};
  const ClusterSpec& cluster = job.plan.scenario.cluster;
  const std::string step = wanted->clock ? fmt::format(" of step {}", *wanted->clock) : "";
  return fmt::format("at {:.6g} s {} waits for {} to send its {}{}", Agenda::now(),
                     node_name(cluster, mailbox.node()), node_name(cluster, wanted->from),
                     name_of(wanted->kind), step);
}

}  // namespace psim
