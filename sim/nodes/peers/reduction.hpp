// Sums the gradients of one range of the model over a group of workers: the rounds of
// sim/protocol/all_reduce.hpp over the network, with filters on gradients. docs/all_reduce.md lists the
// bytes.
//
// Decisions:
// - A filter that quantises or compresses bytes works on each partial sum. The sender encodes the sum. The
//   receiver decodes it, adds it to its own sum, and encodes the result. The first worker with a whole sum
//   encodes it once more, and takes the values that all others will read. The others pass its code on
//   unchanged. So all copies of the model stay equal.
// - So a worker encodes every value once per step, in a partial or a whole sum. It adds the error of this
//   code to the same value in the next step (error feedback), whichever worker's gradient the value came
//   from.
// - A filter that selects works on each worker's gradient, once, with error feedback on that worker. All
//   workers gather all gradients and add them in the order of their ranks, because sums would not stay
//   sparse.
// - A group of one sends nothing, so its filters do nothing.
// - A new group begins without the errors of earlier steps, because they belong to a step that was given up.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/nodes/job/strand.hpp"
#include "sim/protocol/all_reduce.hpp"

namespace psim {

// The workers that sum their gradients.
struct PeerGroup {
  std::vector<std::uint32_t> members = {};  // workers by rank
  std::uint32_t rank = 0;                   // of this worker
  std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
};

class Reduction {
 public:
  // Rounds are numbered from `first_round` on. All arguments must live as long as this object.
  Reduction(JobContext& job, Mailbox& mailbox, Strand& strand, const PeerGroup& group, Range range,
            std::int64_t first_round);
  // More rounds than one reduction takes.
  static std::int64_t rounds_of(const PeerGroup& group) { return 2 * std::int64_t{group.size()} + 2; }

  // Replaces this range of `gradient` by the group's sum; null for a phantom model. `weights`: those of the
  // whole model.
  void run(std::int64_t clock, const Slice& weights, const std::shared_ptr<Values>& gradient);

 private:
  std::unique_ptr<FilterChain> chain_of(Range range) const;
  Range range_of(Chunks chunks) const;
  Payload coded(FilterChain* chain, Range range);
  void send(NodeId to, std::int64_t round, Payload sum,
            std::shared_ptr<const std::vector<Payload>> gradients = {});
  void exchange(std::size_t number);
  void receive(const Exchange& round, const Payload& sum);
  Payload whole_sum(Chunks chunks) const;
  void code_sum(Chunks own);
  void note_bytes(Chunks chunks, std::uint64_t bytes);
  void add(const Slice& part, std::size_t begin);
  void gather();
  NodeId node_of(std::uint32_t rank) const { return job_.plan.first_worker() + group_.members[rank]; }
  std::uint64_t plain_bytes(Range range) const {
    return range.count * bytes_per_value(job_.plan.precision());
  }

  JobContext& job_;
  Mailbox& mailbox_;
  Strand& strand_;
  const PeerGroup& group_;
  Range range_;
  std::int64_t first_round_;
  std::vector<FilterSpec> filters_;
  bool gathers_;
  std::vector<Exchange> rounds_;  // between ranks
  std::size_t first_whole_ = 0;   // the first round with whole sums
  std::uint32_t chunks_ = 1;
  std::vector<std::unique_ptr<FilterChain>> chains_;  // by round: for the partial sums that are sent
  // For the sums that this worker completes first, or for its gradient.
  std::unique_ptr<FilterChain> whole_;
  std::vector<std::uint64_t> coded_;  // by chunk: bytes of the sums
  // The current sum.
  std::int64_t clock_ = 0;
  Slice weights_;
  std::shared_ptr<Values> gradient_;
};

}  // namespace psim
