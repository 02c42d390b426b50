// What a backward pass needs of its forward pass: bytes of activations of one sample, and how few of them
// may be kept when the others are computed again. Pure functions over the scenario.
//
// The gradient of a layer's weights needs the layer's inputs (Goodfellow, Bengio, Courville, Deep Learning,
// 2016, section 6.5.6), and the slope of an activation function is a function of its output (model/mlp.cpp).
// So what is kept lies between the layers: the inputs of every layer, and the outputs of the last one, of
// which the loss is taken. Errors take the places of activations that are no longer needed. Of a model with
// layers of n_0, ..., n_L values:
//   mlp       v (n_0 + ... + n_L), for values of v bytes
//   logistic  (4 + v) for each feature that is not zero (and for the bias), and v for the margin
//   phantom   model.activations_per_sample, the same for each of its arrays
//
// Recomputation (Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost", 2016, section
// 4.1): the layers are cut into runs of about equal length, and only the inputs of every run are kept. The
// backward pass of a run computes the other values of the run again, so that at most those of one run are
// there at a time. All numbers of runs are tried, and the one that needs least is taken. It costs one more
// forward pass, and changes no number.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Bytes of one sample before the first layer, between the layers, and behind the last.
std::vector<double> activation_bytes(const Scenario& scenario);

// How the layers are cut for recomputation: runs of layers, each with the one behind its last.
struct Recomputation {
  std::vector<std::size_t> ends;
  double bytes = 0;  // at most, of one sample
};
// Of the layers whose values are `bytes` (one more than there are layers).
Recomputation least_recomputation(const std::vector<double>& bytes);

// Bytes of one sample that a worker with the whole model keeps.
double kept_activations(const Scenario& scenario);

// The forward pass's share of the work of a gradient: of an mlp by its layers, of a logistic model half, of a
// phantom a third.
double forward_share(const ModelSpec& model);

// The work of each layer in a step, as shares of all that is computed. A run of layers is computed forward
// again before its last layer's backward pass.
std::vector<LayerWork> step_work(const Scenario& scenario);

// Computing with recomputation over computing without.
double recompute_factor(const Scenario& scenario);

}  // namespace psim
