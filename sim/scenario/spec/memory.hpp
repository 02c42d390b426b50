// The memory of every kind of node, part by part: a table of bytes that depends on the scenario only.
// docs/results.md has the formulas, and says what they do not count.
//
// Decisions:
// - The table counts the arrays of real systems, each once: MXNet's servers and devices (src/kvstore),
//   Horovod's and NCCL's buffers, GPipe's stages. The simulation itself may hold more, or share arrays among
//   nodes (scenario/estimate.hpp estimates the memory of the simulation).
// - Weights, gradients and activations have the bytes of model.precision, as on the network; the optimizer
//   state and exact values have at least the bytes of single precision (model/parameters.hpp).
// - Each part is its maximum over a step, so their sum is an upper bound. A gradient is accumulated in place.
// - With a sparse model a worker holds only the weights of its batches' features. Their number depends on the
//   data; the table counts one weight for each nonzero value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/protocol/pipeline.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// A part of a node's memory.
struct NodePart {
  std::string_view name;
  double bytes = 0;
};

// The memory limit of a node in the scenario.
struct MemoryLimit {
  std::string field;
  double bytes = 0;
};

// One kind of node; if nodes of this kind differ, the fullest.
struct NodeMemory {
  std::string node;  // "worker", "device", "server", "stage 2"
  std::vector<NodePart> parts = {};
  std::vector<MemoryLimit> limits = {};

  double bytes() const;
  std::optional<double> limit() const;     // the smallest limit; none: no limit
  double of(std::string_view part) const;  // 0 if there is no such part
  void add(std::string_view part, double bytes);
};

// The worker's host, and its devices if they are behind a bus; or the worker of an all-reduce; or each stage
// of a pipeline.
std::vector<NodeMemory> worker_memory(const Scenario& scenario);

// The fullest server of these jobs, which share the servers. `jobs` must not be empty. Has no parts if there
// are no servers.
NodeMemory server_memory(std::span<const Scenario* const> jobs);

// "24.3 MB"; `digits`: significant ones.
std::string size_text(double bytes, int digits);
// "weights 4 MB + gradients 4 MB + activations 16 MB"
std::string parts_text(const NodeMemory& memory);

// Memory of the stages of a pipeline (memory.hpp): the weights of their layers, and the activations of all
// micro-batches whose errors have not come back.

// The largest number of samples whose activations a stage holds at once: with gpipe all samples, with 1f1b
// the samples of one micro-batch for each stage from this stage on (Narayanan et al., SC 2021, section 2.2).
std::int64_t samples_held(PipelineSchedule schedule, std::int64_t stages, std::int64_t stage,
                          std::int64_t micro_batches, std::int64_t samples);

// The memory of every stage. With recomputation a stage keeps its inputs of these micro-batches, and all
// activations of the micro-batch that it computes again (Huang et al., NeurIPS 2019, section 2.3).
std::vector<NodeMemory> stage_memory(const Scenario& scenario);

// The memory of the optimizer state for `count` values, and of the copy in single precision.
void add_optimizer(const Scenario& scenario, double count, NodeMemory& memory);

}  // namespace psim
