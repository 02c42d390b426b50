// The computation of a worker between a pull and a push: one gradient, the mean of several (accumulation), or
// steps of the worker's own optimizer (local SGD).
//
// Decisions:
// - In each of its own steps a worker runs the scenario's optimizer as a server would: rate, weight decay and
//   state. PyTorch's post-local SGD (torch.distributed.optim.PostLocalSGDOptimizer) does the same, and so do
//   workers of BytePS with BYTEPS_ENABLE_ASYNC. (Dean et al., NIPS 2012, push gradients instead.)
// - The state stays on the worker, and nobody averages it. A worker that has lost its state, or has taken
//   another worker's copy of the model, begins with a new one.
// - A step that is cancelled or given up leaves the state as it was (GradientTask).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/learner.hpp"
#include "model/parameters.hpp"
#include "model/values.hpp"
#include "sim/protocol/key_space.hpp"

namespace psim {

using Batch = std::vector<std::uint32_t>;

// What a worker keeps between its steps.
struct LocalCopy {
  std::shared_ptr<Values> weights;  // to continue from; null where each clock begins with pulled weights
  std::shared_ptr<const Values> spring = {};  // elastic averaging: a move for the next step
  std::optional<Optimizer> optimizer = {};    // of own steps, for the whole model; none before the first
  bool overflows = false;  // a gradient of an own step did, by the loss scale; see round_to
};

// The steps of a worker's own optimizer.
struct OwnSteps {
  OptimizerSpec optimizer = {};
  Storage storage = {};
  double loss_scale = 1;
  std::size_t parameters = 0;      // of the model
  std::vector<double> rates = {};  // by local step
  bool fresh = false;              // begin with a new state of the optimizer
};

struct LocalWork {
  // batches[h]: the batches of local step h, whose gradient is the mean over them.
  std::vector<std::vector<Batch>> batches;
  std::shared_ptr<const BatchKeys> keys = {};  // sparse: keys of weights and gradient
  std::int64_t devices = 1;                    // devices that share out each batch
  std::optional<OwnSteps> own = {};
  bool keep = false;   // keep the weights after the last local step in the local copy
  bool moves = false;  // the result is not the gradient, but how far the own steps moved the weights
};

// The gradient of the last step, or with `moves` the weights before the steps minus those after them. The
// steps begin at `weights`, or, without `weights`, at the local copy. Without own steps, one batch on one
// device gives the learner's gradient to the last bit. The mean of the workers' moves sets the common weights
// to the mean of their copies (local SGD: Stich, ICLR 2019): w - mean_i(w - w_i) = mean_i(w_i).
Values local_gradient(const Learner& learner, Assembly* weights, const LocalWork& work, LocalCopy& local);

// One own step, number `step` of the clock, with this gradient, which is rounded first; `keys`: of a sparse
// gradient.
void step_alone(Values& weights, const std::shared_ptr<Values>& gradient, const OwnSteps& own,
                std::size_t step, LocalCopy& local, const Keys* keys = nullptr);
void add(Values& y, double a, const Values& x);  // y += a * x
void scale(Values& y, double a);
// before - after
Values move_between(const Values& before, const Values& after);

// Elastic averaging (Zhang, Choromanska, LeCun, NIPS 2015, algorithm 1). At first the local copy is the
// centre itself. It moves by -alpha * (local - centre) together with its next step; the gradient of this step
// is taken before the move. Returns the move. The centre uses it as a gradient, and so moves the same
// distance towards the worker.
std::shared_ptr<Values> elastic_step(const Values& centre, double alpha, LocalCopy& local);

}  // namespace psim
