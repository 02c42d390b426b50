// Memory of the stages of a pipeline (memory.hpp): the weights of their layers, and the activations of all
// micro-batches whose errors have not come back.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/protocol/pipeline.hpp"
#include "sim/scenario/spec/memory.hpp"

namespace psim {

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
