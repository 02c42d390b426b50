// What every kind of node holds in memory, part by part: a table of bytes that follows from the scenario
// alone. docs/results.md has the formulas, and says what is not counted.
//
// Decisions:
// - Counted is what a real system of the field holds, each array once: MXNet's servers and devices
//   (src/kvstore), Horovod's and NCCL's buffers, GPipe's stages. The simulation itself may hold more, or
//   share arrays among nodes (scenario/estimate.hpp tells what it takes of this machine).
// - Weights, gradients and activations have the bytes of model.precision, as on the network; the optimizer's
//   state and what must be exact have at least those of single precision (model/rounding.hpp).
// - The parts are the most that is there at any time of a step, so their sum is an upper bound. A gradient is
//   accumulated in place.
// - Of a sparse model a worker holds the weights of its batches' features only. How many these are depends on
//   the data; counted are as many as there are values that are not zero.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// A part of a node's memory.
struct NodePart {
  std::string_view name;
  double bytes = 0;
};

// What a scenario gives a node.
struct MemoryLimit {
  std::string field;
  double bytes = 0;
};

// One kind of node; of several that are not alike, the fullest.
struct NodeMemory {
  std::string node;  // "worker", "device", "server", "stage 2"
  std::vector<NodePart> parts = {};
  std::vector<MemoryLimit> limits = {};

  double bytes() const;
  std::optional<double> limit() const;     // the least; none: it has as much as it needs
  double of(std::string_view part) const;  // 0: there is no such part
  void add(std::string_view part, double bytes);
};

// The worker's host, and its devices if they are behind a bus; or the worker of an all-reduce, or the stages
// of a pipeline, each by itself.
std::vector<NodeMemory> worker_memory(const Scenario& scenario);

// The fullest server of these jobs, which share the servers; `jobs` must not be empty. Without servers: no
// parts.
NodeMemory server_memory(std::span<const Scenario* const> jobs);

// All nodes of a scenario without groups.
std::vector<NodeMemory> memory_of(const Scenario& scenario);

// "24 MB"
std::string exact_size_text(double bytes);
// "weights 4 MB + gradients 4 MB + activations 16 MB"
std::string parts_text(const NodeMemory& memory);

}  // namespace psim
