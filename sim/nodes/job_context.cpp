#include "sim/nodes/job_context.hpp"

#include <algorithm>
#include <utility>

namespace psim {

bool JobContext::awaits(NodeId worker) const {
  const std::size_t index = worker - plan.first_worker();
  if (state.completed[index]) return false;
  const bool is_there = network.is_up(worker) && !state.left_early[index];
  if (!is_there && !state.starting[worker] && !run.comes_back(worker)) return false;
  const bool is_removed =
      plan.scenario.recovery.workers == LostWorkers::remove && (!is_there || state.taken_out[index]);
  const bool takes_no_part = state.left_early[index] || is_removed;
  return !state.some_completed() || !(plan.rule.drops_stale || takes_no_part);
}

bool JobContext::is_through() const {
  for (NodeId node = plan.first_worker(); node < plan.past_workers(); ++node) {
    if (awaits(node)) return false;
  }
  return state.some_completed() || std::ranges::find(state.left_early, false) == state.left_early.end();
}

std::shared_ptr<Assembly> JobContext::assemble(std::vector<Slice> parts, const Layout* layout) {
  std::shared_ptr<Assembly> last = state.last_assembly.lock();
  if (!last || !last->same_parts(parts) || !last->join()) {
    last = std::make_shared<Assembly>(std::move(parts), plan.places_in(layout));
    state.last_assembly = last;
  }
  return last;
}

FilterChain::Options JobContext::chain_of(std::uint32_t shard, const Shard& part, NodeId worker,
                                          bool push) const {
  const NodeId alone = worker - plan.first_index;  // draws are those of a run of this job alone
  return {.filters = filters_on(plan.scenario.filters, push),
          .precision = plan.precision(),
          .count = part.count,
          .first_key = part.ranges.front().begin,
          .key_bytes = plan.scenario.messages.key_bytes(),
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
