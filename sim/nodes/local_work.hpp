// The computation of a worker between a pull and a push: one gradient, the mean of several (accumulation), or
// the sum of the gradients of several own steps (local SGD).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/learner.hpp"
#include "model/values.hpp"
#include "sim/protocol/key_space.hpp"

namespace psim {

using Batch = std::vector<std::uint32_t>;

// The weights of a worker that continues from its own copy; empty where each step begins with pulled weights.
struct LocalCopy {
  std::shared_ptr<Values> weights;
  std::shared_ptr<const Values> spring;  // elastic averaging: a move for the next step
};

struct LocalWork {
  // batches[h]: the batches of local step h, whose gradient is the mean over them.
  std::vector<std::vector<Batch>> batches;
  std::shared_ptr<const BatchKeys> keys = {};  // sparse: keys of weights and gradient
  double rate = 0;                             // learning rate of the local steps
  std::int64_t devices = 1;                    // devices that share out each batch
  bool keep = false;                           // keep the weights after the last local step in the local copy
};

// The sum of the local steps' gradients. The steps begin at `weights`, or, without `weights`, at the local
// copy. With one step, one batch and one device the sum equals the learner's gradient to the last bit. A
// worker that pushes this sum, applied at the same rate, does local SGD with averaging (Stich, ICLR 2019):
// w - rate * mean_i(sum_h g_ih) = mean_i(w - rate * sum_h g_ih).
Values local_gradient(const Learner& learner, Assembly* weights, const LocalWork& work, LocalCopy& local);

// Elastic averaging (Zhang, Choromanska, LeCun, NIPS 2015, algorithm 1). At first the local copy is the
// centre itself. It moves by -alpha * (local - centre) together with its next step; the gradient of this step
// is taken before the move. Returns the move. The centre uses it as a gradient, and so moves the same
// distance towards the worker.
std::shared_ptr<Values> elastic_step(const Values& centre, double alpha, LocalCopy& local);

}  // namespace psim
