// What the stages of a pipeline hold (memory.hpp): the weights of their layers, and the activations of all
// micro-batches whose errors have not come back.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/protocol/pipeline.hpp"
#include "sim/scenario/spec/memory.hpp"

namespace psim {

// Samples of which a stage holds activations at once, at most: under gpipe all, and under 1f1b those of as
// many micro-batches as there are stages from it on (Narayanan et al., SC 2021, section 2.2).
std::int64_t samples_held(PipelineSchedule schedule, std::int64_t stages, std::int64_t stage,
                          std::int64_t micro_batches, std::int64_t samples);

// Of every stage. With recomputation a stage keeps its inputs of those micro-batches, and everything of the
// one that it is computing again (Huang et al., NeurIPS 2019, section 2.3).
std::vector<NodeMemory> stage_memory(const Scenario& scenario);

// The optimizer's state for `count` values, and the copy in single precision.
void add_optimizer(const Scenario& scenario, double count, NodeMemory& memory);

}  // namespace psim
