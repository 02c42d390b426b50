// All-reduce: afterwards every worker has the sum of all workers' vectors. The functions return as data which
// chunk each worker sends to which worker, and in which order; the vector is cut in even chunks. First
// partial sums travel: each value of each worker travels once, and the receiver adds it to its own. Then the
// sums travel.
//
// All-gather: afterwards every worker has all workers' vectors and adds them up itself. Sparse vectors are
// summed in this way, because their sums do not stay sparse.
//
// Every worker has a replica of the model and an optimizer. It takes the batch that it would take under bsp,
// and updates by the mean of the summed gradients. The partial sums travel, so a ring adds each chunk in
// rotated order and a tree in another order: weights equal bsp's to rounding, and bit for bit where the sums
// are exact (tests/properties/architectures_test.cpp). As in MPI_Sendrecv, a round ends for a worker when its
// message has arrived and the message that it waits for is there. Otherwise a tree's root would send to all
// children at once and lose the 2 log2 N (alpha + M / B) of theory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/model_spec.hpp"
#include "model/values.hpp"
#include "sim/protocol/architecture.hpp"
#include "sim/protocol/message.hpp"

namespace psim {

// Chunks [first, last).
struct Chunks {
  std::uint32_t first = 0, last = 0;
};

// One round of one worker: it sends a message, and then waits for one.
struct Exchange {
  struct Partner {
    std::uint32_t worker;
    Chunks chunks;
  };
  std::int64_t round = 0;
  std::optional<Partner> send, receive;
  bool reduces = false;  // partial sums travel, and the receiver adds its own; otherwise whole sums travel
};

// The rounds of worker `me` of `workers`.
std::vector<Exchange> exchanges(AllReduceAlgorithm algorithm, std::uint32_t workers, std::uint32_t me);
// The number of chunks of the vector.
std::uint32_t chunk_count(AllReduceAlgorithm algorithm, std::uint32_t workers);
// The range of the chunks `chunks` among `count` chunks of `total` values.
Range range_of(Chunks chunks, std::size_t total, std::uint32_t count);

// The rounds of an all-gather: its chunks are the workers' vectors, by rank.
std::vector<Exchange> gathering(AllReduceAlgorithm algorithm, std::uint32_t workers, std::uint32_t me);

// The ranks of workers that stand in a row, each near the next one: neighbours exchange most. On a ring and
// in a tree these are consecutive ranks; halving-doubling exchanges halves at the largest distance, so its
// ranks are the places with their bits reversed.
std::vector<std::uint32_t> ranks_along(AllReduceAlgorithm algorithm, std::uint32_t workers);

// The parts of the gradient that an all-reduce with overlap sums one by one: buckets, in the order in which
// the backward pass completes them (Li et al.: PyTorch Distributed, VLDB 2020, section 3.2.3).
struct Bucket {
  Range range;              // of the key space
  std::uint32_t layer = 0;  // the bucket is complete when the backward pass has computed this layer
};

// `arrays`: in the order of the weight vector. First, arrays with more than `slice` values are cut; 0: none
// is cut. Then neighbours are joined as long as they have at most `most` values together; 0: none are joined.
std::vector<Bucket> cut_in_buckets(const std::vector<ParameterArray>& arrays, std::size_t slice,
                                   std::size_t most);

}  // namespace psim
