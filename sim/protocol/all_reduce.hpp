// All-reduce: afterwards every worker has the sum of all workers' vectors. What each worker sends to whom, in
// which order, as data; the vector is cut in as many even chunks as there are workers.
//
// Every worker has a replica of the model and an optimizer, takes the batch that it would take under bsp,
// and updates by the mean of the summed gradients. The partial sums travel, so a ring adds each chunk in
// rotated order and a tree in its own: weights equal bsp's to rounding, and bit for bit where the sums are
// exact (tests/properties/architectures_test.cpp). A round ends for a worker when what it sends has arrived
// and what it waits for is there, as in MPI_Sendrecv. Without that, a tree's root would send to all
// children at once and lose the 2 log2 N (alpha + M / B) of theory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/protocol/architecture.hpp"
#include "sim/protocol/message.hpp"

namespace psim {

// Chunks [first, last).
struct Chunks {
  std::uint32_t first = 0, last = 0;
};

// One round of one worker: it sends, and then waits for what it receives.
struct Exchange {
  struct Part {
    std::uint32_t worker;
    Chunks chunks;
  };
  std::int64_t round = 0;
  std::optional<Part> send, receive;
  bool add = false;  // add the received values; otherwise replace the present ones
};

// The rounds of worker `me` of `workers`. Halving-doubling needs a power of two.
std::vector<Exchange> exchanges(AllReduceAlgorithm algorithm, std::uint32_t workers, std::uint32_t me);

// Which values `chunks` are, of `total`.
Range range_of(Chunks chunks, std::size_t total, std::uint32_t workers);

}  // namespace psim
