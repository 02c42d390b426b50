// What a worker computes between a pull and a push: one gradient, the mean of several (accumulation), or the
// sum of gradients along several steps of its own (local SGD).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/learner.hpp"
#include "model/values.hpp"
#include "sim/protocol/key_space.hpp"

namespace psim {

using Batch = std::vector<std::uint32_t>;

// The weights of a worker that goes on from its own copy; empty where each step begins with pulled weights.
struct LocalCopy {
  std::shared_ptr<Values> weights;
  std::shared_ptr<const Values> spring;  // elastic averaging: a move that is due with the next step
};

struct LocalWork {
  // batches[h] are those of local step h; the step's gradient is their mean.
  std::vector<std::vector<Batch>> batches;
  std::shared_ptr<const BatchKeys> keys = {};  // sparse: weights and gradient are of these keys only
  double rate = 0;                             // of the local steps
  std::int64_t devices = 1;                    // that share out each batch
  bool keep = false;  // leave the weights after the last local step in the local copy
};

// The sum of the local steps' gradients. `weights` are where it begins; with one step, one batch and one
// device this is the learner's gradient to the last bit. Without `weights` it begins where the local copy is.
// To push the sum and apply it at the same rate is local SGD with averaging (Stich, ICLR 2019): w - rate *
// mean_i(sum_h g_ih) = mean_i(w - rate * sum_h g_ih).
Values local_gradient(const Learner& learner, Assembly* weights, const LocalWork& work, LocalCopy& local);

// Elastic averaging (Zhang, Choromanska, LeCun, NIPS 2015, algorithm 1): the local copy, at first the centre
// itself, is to move by -alpha * (local - centre), together with its next step, whose gradient is taken
// before. Returns that move, which is the gradient with which the centre moves as far towards the worker.
std::shared_ptr<Values> elastic_step(const Values& centre, double alpha, LocalCopy& local);

}  // namespace psim
