#include "sim/nodes/job/strand.hpp"

#include <fmt/format.h>
#include <simgrid/s4u/Actor.hpp>

#include <utility>

#include "sim/cluster/simgrid_version.hpp"
#include "sim/nodes/job/actors.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {

void Strand::compute(const Block& block) {
  processor_.copy(block.copy);
  processor_.compute(block.flops, false);
}

void Strand::start(std::vector<Block> blocks, std::function<void()> ended) {
  expects(!runs_, "a node computes one step at a time");
  done_ = 0;
  runs_ = true;
  mailbox_.computes(true);
  const std::string name = fmt::format("processor of {}", node_);
  actor_ = add_actor(name, simgrid::s4u::this_actor::get_host(),
                     on_own_chain(job_.recorder, [this, blocks = std::move(blocks),
                                                  ended = std::move(ended)] { run(blocks, ended); }));
}

// An actor that waits for a block waits for messages. So each block ends with a message.
void Strand::run(const std::vector<Block>& blocks, const std::function<void()>& ended) {
  for (const Block& block : blocks) {
    compute(block);
    if (++done_ == blocks.size()) {
      runs_ = false;
      mailbox_.computes(false);
      ended();
      if (filters_) record_filter(ComputePhase::begun);
    }
    job_.network.notify({.from = node_, .to = node_, .body = Ack{}});
  }
}

void Strand::wait_for(std::size_t blocks, std::int64_t clock) {
  mailbox_.wait_until(std::nullopt, clock, [&] { return done_ >= blocks; });
}

// While the step's blocks run, the filter's work counts as part of the step.
void Strand::filter(double flops) {
  if (!(flops > 0)) return;
  filters_ = true;
  if (!runs_) record_filter(ComputePhase::begun);
  psim::compute(job_, node_, flops);
  filters_ = false;
  if (!runs_) record_filter(ComputePhase::ended);
}

void Strand::record_filter(ComputePhase phase) {
  job_.record(node_, Computation{.phase = phase, .work = Work::filter});
}

void Strand::stop() {
  if (PSIM_PROBE(std::exchange(runs_, false), "a computation beside its messages is stopped")) actor_->kill();
  actor_ = nullptr;
  filters_ = false;
  mailbox_.computes(false);
}

}  // namespace psim
