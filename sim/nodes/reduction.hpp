// Sums gradients over a group of workers, of one range of the model: the rounds of
// sim/protocol/all_reduce.hpp over the network, with what filters make of gradients. docs/all_reduce.md has
// the bytes.
//
// Decisions:
// - A filter that quantises, or compresses bytes, works on each partial sum: its sender codes it, its
// receiver
//   decodes it and adds it to its own, and codes that again. Whoever has a whole sum first codes it once
//   more, and takes what all others will read; its code goes on as it is. So all copies of the model stay
//   equal.
// - So a worker codes every value once a step, in a partial sum or in a whole one. What it loses of it, it
// adds
//   to what it codes of it in the next step (error feedback), whichever worker's gradient that came from.
// - A filter that selects works on each worker's gradient, once, with error feedback there. All workers
// gather
//   all gradients and add them, in the order of their ranks: sums would not stay sparse.
// - A group of one sends nothing, so its filters have nothing to do.
// - A new group begins without anything that was lost before: that belonged to a step that was given up.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/nodes/strand.hpp"
#include "sim/protocol/all_reduce.hpp"

namespace psim {

// The workers that sum their gradients.
struct PeerGroup {
  std::vector<std::uint32_t> members = {};  // by rank: workers
  std::uint32_t rank = 0;                   // of this one
  std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
};

class Reduction {
 public:
  // Its rounds are numbered from `first_round` on. What it is given must live as long.
  Reduction(JobContext& job, Mailbox& mailbox, Strand& strand, const PeerGroup& group, Range range,
            std::int64_t first_round);
  // More rounds than one takes.
  static std::int64_t rounds_of(const PeerGroup& group) { return 2 * std::int64_t{group.size()} + 2; }

  // `gradient`'s range becomes the group's sum; null for a phantom model. `weights` are the whole model's.
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
  std::size_t first_whole_ = 0;   // the first round in which whole sums travel
  std::uint32_t chunks_ = 1;
  std::vector<std::unique_ptr<FilterChain>> chains_;  // by round: of the partial sums that are sent
  std::unique_ptr<FilterChain> whole_;  // of the sums that this worker has first, or its gradient
  std::vector<std::uint64_t> coded_;    // by chunk: bytes of the sums
  // Of the one in hand.
  std::int64_t clock_ = 0;
  Slice weights_;
  std::shared_ptr<Values> gradient_;
};

}  // namespace psim
