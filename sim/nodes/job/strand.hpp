// A worker's computing in parallel to its messages: a separate actor computes while the worker's actor takes
// part in all-reduces.
#pragma once

#include <simgrid/forward.h>

#include <functional>
#include <vector>

#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/peers/mailbox.hpp"

namespace psim {

class Strand {
 public:
  Strand(JobContext& job, NodeId node, Mailbox& mailbox)
      : job_(job), node_(node), mailbox_(mailbox), processor_(job, node) {}

  struct Block {
    double flops, copy;  // operations, and seconds of copies before them
  };
  // Computes the block in the calling actor.
  void compute(const Block& block);
  // Computes the blocks one after the other, in parallel to the calling actor. Calls `ended` at the end of
  // the last block.
  void start(std::vector<Block> blocks, std::function<void()> ended);
  // Waits until the first `blocks` of them are done.
  void wait_for(std::size_t blocks, std::int64_t clock);
  // Spends the time of the filters on the same processor.
  void filter(double flops);
  bool is_running() const { return runs_; }
  // Stops without computing the remaining blocks.
  void stop();

  Processor& processor() { return processor_; }

 private:
  void run(const std::vector<Block>& blocks, const std::function<void()>& ended);
  void record_filter(ComputePhase phase);

  JobContext& job_;
  NodeId node_;
  Mailbox& mailbox_;
  Processor processor_;
  simgrid::s4u::ActorPtr actor_;
  std::size_t done_ = 0;  // blocks
  bool runs_ = false, filters_ = false;
};

}  // namespace psim
