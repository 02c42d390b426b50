// Estimates the memory and work of a run before it begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"

namespace psim {

// A part of a run's memory.
struct MemoryPart {
  double bytes = 0;
  std::string what, help;  // what needs the memory, and how to need less
};

// The formula, with W workers, N shards (messages of the whole model), P parameters of v bytes in memory, C
// copies and a optimizer arrays of the model's size:
//   program   40 MB, and 100 kB for each node (16 kB with network.model = "nic")
//   shards    N (3.2 kB + 3 kB W + 6.5 kB C): books of servers and workers, routes, and messages on their way
//             (with network.model = "nic" 1.2 kB W, because there are no routes)
//   model     v P (2.5 + a + W + C (2 + a)), and v P W (1 + a) if workers update, v P W each for local
//             copies, residuals of filters and delay compensation; without servers v P W (3 + a), or
//             v P (3 + a) in a pipeline
//   batches   8 bytes for each output of each layer and sample, on each thread
//   data      8 bytes for each number, because psim holds all data next to their training and test parts
//             for some time, and 12 for each sample
// and of address space, used or not
//   stacks    8 MiB (SimGrid's default) for each node, twice for a node that answers requests, and for 3
//             more; 8 MiB for each thread but the first
//   arenas    64 MiB for each arena of malloc: each thread but the first has one, but glibc makes at most 8
//             arenas for each core
// The factors are measured: tests/sim/scenario/estimate_test.cpp checks that they are within a factor of two
// of real peaks.
struct Estimate {
  std::vector<MemoryPart> parts;  // the largest first
  double shards = 0;
  double messages = 0;  // in the whole run without failures: pushes, pulls, answers, and messages to replicas

  double flops = 0;  // of all computed gradients; infinite, as `messages`, if the number of steps is unknown

  double nodes = 0;
  double stacks = 0;  // mapped bytes for the stacks of nodes and threads and for arenas, mostly unused

  double bytes() const;
  double address_space() const { return bytes() + stacks; }
};

// `threads`: the number of threads that compute gradients at once.
Estimate estimate(const LoadedScenario& loaded, unsigned threads);

}  // namespace psim
