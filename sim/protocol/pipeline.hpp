// Model parallelism in a pipeline: contiguous layers make a stage, each worker has one stage, and a batch
// passes through the stages in micro-batches.
//
// A step takes the union of the workers' batches, in worker order, in micro-batches. Weights change when all
// micro-batches are back (a flush), so nothing is stale. The gradient is computed at once for the whole
// batch, so it equals the gradient of one worker with batches of W b, bit for bit; messages have the sizes of
// activations and errors, without numbers. A stage's computation takes its share of the operations (4 or 6
// per weight and sample; for a phantom a third of the work is forward). Slowness is drawn once a step. An
// update counts when every worker has made it; workers are at most one update apart, and an evaluation takes
// the replica that is furthest behind.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.hpp"
#include "sim/protocol/architecture.hpp"
#include "sim/protocol/message.hpp"

namespace psim {

struct Stage {
  Range parameters;
  double forward = 0, backward = 0;  // shares of the whole gradient's work
  std::size_t outputs = 0;           // values of one sample for the next stage; 0 for the last stage
};

// The layers of a model in `count` stages of about equal work: a stage ends after the layer at which the work
// done is nearest to its even share. A phantom model is cut evenly; a third of its work is forward.
std::vector<Stage> cut_in_stages(const ModelSpec& model, std::size_t count);

// One computation of a stage.
struct StageWork {
  enum Direction : std::uint8_t { forward, backward } direction;
  std::int64_t micro_batch;
};

// The computations of `stage` of `stages` in one step, in this order. gpipe: Huang et al., NeurIPS 2019,
// figure 2; 1f1b: Narayanan et al., SC 2021, figure 4 (PipeDream-Flush).
std::vector<StageWork> stage_work(PipelineSchedule schedule, std::int64_t stages, std::int64_t stage,
                                  std::int64_t micro_batches);

// The scenario's number, or four for each stage (with four, bubbles are negligible: Huang et al. 2019), but
// at most the number of samples.
std::int64_t micro_batches_of(const ArchitectureSpec& spec, std::int64_t stages, std::int64_t samples);

}  // namespace psim
