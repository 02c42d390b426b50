// Memory for activations, which the backward pass needs from the forward pass: bytes of one sample, and the
// smallest number of them with recomputation. Pure functions of the scenario.
//
// The gradient of a layer's weights needs the layer's inputs (Goodfellow, Bengio, Courville, Deep Learning,
// 2016, section 6.5.6), and the slope of an activation function is a function of its output
// (model/learner.cpp). So a worker keeps the inputs of every layer, and the outputs of the last layer for
// the loss. Errors replace activations that are no longer needed. A model with layers of n_0, ..., n_L values
// keeps:
//   mlp       v (n_0 + ... + n_L), for values of v bytes
//   logistic  (4 + v) for each feature that is not zero (and for the bias), and v for the margin
//   phantom   model.activations_per_sample, the same for each of its arrays
//
// Recomputation (Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost", 2016, section
// 4.1): the layers are cut into segments of about equal length, and the worker keeps only the inputs of every
// segment. The backward pass of a segment computes its other values again, so the worker holds these values
// of only one segment at a time. The function tries all numbers of segments and takes the one that needs the
// least memory. Recomputation costs one more forward pass, and changes no result.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Bytes of one sample before the first layer, between the layers, and after the last layer.
std::vector<double> activation_bytes(const Scenario& scenario);

// The segments of layers for recomputation; each has the index after its last layer.
struct Recomputation {
  std::vector<std::size_t> ends;
  double bytes = 0;  // at most, of one sample
};
// For layers with values of `bytes` (one entry more than the number of layers).
Recomputation least_recomputation(const std::vector<double>& bytes);

// Bytes of one sample that a worker with the whole model keeps.
double kept_activations(const Scenario& scenario);

// The share of the forward pass in the work of a gradient: for an mlp by its layers, for a logistic model a
// half, for a phantom model a third.
double forward_share(const ModelSpec& model);

// The work of each layer in a step, as a share of all work. The forward pass of a segment is repeated before
// the backward pass of its last layer.
std::vector<LayerWork> step_work(const Scenario& scenario);

// The ratio of the work with recomputation to the work without.
double recompute_factor(const Scenario& scenario);

}  // namespace psim
