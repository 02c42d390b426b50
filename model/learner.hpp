// What a worker does with weights and a batch, whatever the model and the precision are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/dataset.hpp"
#include "model/mlp.hpp"
#include "model/values.hpp"

namespace psim {

enum class ModelKind { mlp, phantom };
enum class Init { glorot, he, zeros };

struct ModelSpec {
  ModelKind kind = ModelKind::mlp;
  MlpShape mlp{.layers = {64, 32, 10}};
  Precision precision = Precision::float32;
  Init init = Init::glorot;
  std::vector<std::vector<std::vector<double>>>
      weights;                              // per layer, rows of W (out x in); empty: drawn by `init`
  std::vector<std::vector<double>> biases;  // per layer; empty: zeros
  std::int64_t parameters = 500'000;        // phantom
  double flops_per_sample = 3e6;            // phantom
  std::int64_t activations = 1000;          // phantom: values of one sample between two stages of a pipeline
};

struct Evaluation {
  double loss = 0;                 // mean over the evaluation set
  std::optional<double> accuracy;  // classification only
};

// Gradients and evaluations of one model on one data set. Stateless after construction: every member may
// be called from any thread.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual Values initial_weights(std::uint64_t seed) const = 0;
  // Mean gradient over `samples` of the training set.
  virtual Values gradient(const Values& weights, std::span<const std::uint32_t> samples) const = 0;
  // The same, to the last bit, in the weights' place.
  virtual void to_gradient(Values& weights, std::span<const std::uint32_t> samples) const = 0;
  // Over the test set, or over the training set when there is no test set.
  virtual Evaluation evaluate(const Values& weights) const = 0;
};

// `data` must outlive the learner. Nothing for a phantom model.
std::unique_ptr<Learner> make_learner(const ModelSpec& spec, const DataSplit& data);

// Sizes that hold for phantom models too.
std::int64_t parameter_count(const ModelSpec& spec);
double flops_per_sample(const ModelSpec& spec);

}  // namespace psim
