// Binary logistic regression on sparse samples, the model of click prediction: P(1) = 1 / (1 + exp(-w.x)),
// mean loss log(1 + exp(-y w.x)) with y = +1 or -1, all weights 0 at the start. A bias is one more feature
// that every sample has with value 1. It is the last weight, and optimizers treat it like the others.
//
// A batch touches few weights. Learner::keys names them, Learner::gradient_of computes the gradient from
// these weights alone, and the optimizer updates only the weights that the keys of a group name. All three do
// the arithmetic of their dense counterparts in the same order, so dense and sparse runs of plain SGD have
// the same bits. Optimizer state, weight decay and the proximal operator wait until a weight is touched
// (MXNet's lazy_update); there dense and sparse differ, as they do in practice. The data source clicks gives
// every sample one feature of each of its categorical fields, Zipf-distributed within the field. So the
// number of nonzeros is exact, and frequent features are spread over the weights: no single server or block
// of features gets all of them.
#pragma once

#include <memory>

#include "model/learner.hpp"

namespace psim {

// `data` must be sparse, have two classes, and outlive the learner.
std::unique_ptr<Learner> make_logistic(const ModelSpec& spec, const DataSplit& data);

// Area under the ROC curve of `scores`; equal scores count half (Mann, Whitney 1947). None if a class of
// `labels` (0 or 1) is missing.
std::optional<double> area_under_roc(std::span<const double> scores, std::span<const std::int32_t> labels);

}  // namespace psim
