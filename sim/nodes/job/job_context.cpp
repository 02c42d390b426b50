#include "sim/nodes/job/job_context.hpp"

#include <utility>

namespace psim {

bool JobContext::awaits(NodeId worker) const {
  const JobProgress& progress = state.progress;
  const std::uint32_t index = worker - plan.first_worker();
  if (progress.has_completed(index)) return false;
  const bool is_there = network.is_up(worker) && !progress.has_left(index);
  if (!is_there && !progress.is_starting(worker) && !run.comes_back(worker)) return false;
  const bool is_removed =
      plan.scenario.recovery.workers == LostWorkers::remove && (!is_there || progress.is_taken_out(index));
  const bool takes_no_part = progress.has_left(index) || is_removed;
  return !progress.some_completed() || !(plan.rule.drops_stale || takes_no_part);
}

bool JobContext::is_through() const {
  for (NodeId node = plan.first_worker(); node < plan.past_workers(); ++node) {
    if (awaits(node)) return false;
  }
  return state.progress.some_completed() || state.progress.all_left();
}

bool JobContext::is_calm() const {
  if (recorder.stats().lost > 0) return false;
  const FailureStats* failures = recorder.failures();
  return failures == nullptr || (failures->crashes == 0 && failures->views == 0);
}

bool JobContext::answers(const Message& request) const {
  Message answer{.from = request.to, .to = request.from, .shard = request.shard, .epoch = request.epoch};
  const auto is_sent = [&](Body&& body) {
    answer.body = std::move(body);
    return network.carries(answer);
  };
  if (const Pull* pull = request.as<Pull>())
    return is_sent(Answer{.number = pull->number}) ||
           is_sent(Answer{.finished = true, .number = pull->number});
  if (const Push* push = request.as<Push>()) return is_sent(Ack{.number = push->number});
  if (const Fetch* fetch = request.as<Fetch>()) {
    answer.shard = answer.epoch = 0;
    return is_sent(Samples{.step = fetch->step});
  }
  return false;
}

std::shared_ptr<Assembly> JobContext::assemble(std::vector<Slice> parts, const Layout* layout) {
  return state.assemblies.of(std::move(parts), plan.places_in(layout));
}

FilterChain::Options JobContext::chain_of(std::uint32_t shard, const Shard& part, NodeId worker,
                                          bool push) const {
  const NodeId alone = worker - plan.first_index;  // the job draws as in a run of its own
  return {.filters = filters_on(plan.scenario.filters, push),
          .precision = plan.precision(),
          .count = part.count,
          .first_key = part.ranges.front().begin,
          .key_bytes = plan.key_bytes(),
          .seed = static_cast<std::uint64_t>(plan.scenario.seed),
          .sender = push ? alone : shard,
          .receiver = push ? shard : alone,
          .push = push,
          .scale = push ? plan.loss_scale() : 1,
          .repeats = plan.scenario.may_fail(),
          .key_lists = push ? plan.scenario.training.feature_blocks : 1,
          .buffers = state.filter_buffers};
}

std::unique_ptr<FilterChain> JobContext::make_chain(std::uint32_t shard, const Shard& part, NodeId worker,
                                                    bool push) const {
  FilterChain::Options options = chain_of(shard, part, worker, push);
  return options.filters.empty() ? nullptr : std::make_unique<FilterChain>(std::move(options));
}

void record_wait(JobContext& job, NodeId node, Awaited what, double since, std::optional<std::int64_t> clock,
                 const Heard& last) {
  if (!(Agenda::now() > since) || !last.sent) return;
  const std::uint64_t message = *last.sent;
  job.record(node, Wait{what, since, clock, last.from, last.shard, message});
}

}  // namespace psim
