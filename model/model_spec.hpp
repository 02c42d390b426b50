// The model of a scenario, and the sizes that follow from it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/model_row.hpp"
#include "model/values.hpp"

namespace psim {

// The layers of a multi-layer perceptron, and the arrays of its weights.
enum class Activation { identity, relu, tanh, sigmoid };
enum class Loss { cross_entropy, half_sse };

struct MlpShape {
  std::vector<std::int64_t> layers;  // widths, input first, output last; at least two
  bool bias = true;
  Activation activation = Activation::relu;  // of the hidden layers; the output layer is linear
  Loss loss = Loss::cross_entropy;

  // One named array of the flat weight vector: W1, b1, W2, b2, ... W is out x in, stored row by row.
  struct Array {
    std::string name;
    std::int64_t rows;
    std::int64_t cols;
    std::int64_t begin;  // position in the weight vector
    std::int64_t size() const { return rows * cols; }
  };
  std::vector<Array> arrays() const;
  std::int64_t parameters() const;
  // Floating-point operations of one sample's gradient: 2 per weight forward, 2 for the weight's
  // gradient, 2 to pass the error on (not needed below the first layer). Element-wise work is not counted.
  double flops_per_sample() const;
};

enum class Init { glorot, he, zeros };

// The fields of [model], and sizes of the data. Every kind has kind, settings, precision, features, outputs
// and nonzeros; the others belong to the kinds whose ModelRow::fields name them.
struct ModelSpec {
  ModelKind kind = {};     // mlp
  Settings settings = {};  // of the kind
  MlpShape mlp{.layers = {64, 32, 10}};
  Precision precision = Precision::float32;
  Init init = Init::glorot;
  std::vector<std::vector<std::vector<double>>>
      weights;                               // per layer, rows of W (out x in); empty: drawn by `init`
  std::vector<std::vector<double>> biases;   // per layer; empty: zeros
  std::int64_t parameters = 500'000;         // phantom, if `phantom_arrays` is empty
  std::vector<std::int64_t> phantom_arrays;  // phantom: size of each array, from the input
  std::vector<double> phantom_work = {};     // of each array: its share of the computing; empty: by size
  double flops_per_sample = 3e6;             // phantom
  std::int64_t features = 0, outputs = 0;    // of the data, filled in by adapt_to
  double nonzeros = 0;                       // of sparse data: mean number per sample, filled in by adapt_to
  std::int64_t activations = 1000;           // phantom: values of one sample between two stages of a pipeline
};

struct Evaluation {
  double loss = 0;                      // mean over the samples
  std::optional<double> accuracy = {};  // classification only
  // Logistic models only. The area under the ROC curve: the probability that a sample of class 1 gets a
  // higher output than a sample of class 0; none if a class is missing.
  std::optional<double> auc = {};
  std::optional<std::int64_t> nonzero_weights = {};
};

// Positions of weights, rising and without repetitions.
using Keys = std::vector<std::uint32_t>;

// Positions from `begin` up to `end`; by default all positions.
struct KeyRange {
  std::uint32_t begin = 0;
  std::uint32_t end = std::numeric_limits<std::uint32_t>::max();
};

// A named array of parameters, as a place in the flat weight vector.
struct ParameterArray {
  std::string name;
  Range range;
  std::uint32_t layer;                  // from the input
  std::vector<std::size_t> shape = {};  // rows and columns, stored row by row; empty: one dimension
};
// In the order of the weight vector; a phantom model has the arrays of its `arrays`, or one array.
std::vector<ParameterArray> parameter_arrays(const ModelSpec& spec);

// The shapes of the arrays in these ranges, which are stored one after the other; none if a range cuts an
// array.
std::optional<std::vector<ArrayShape>> arrays_in(const ModelSpec& spec, std::span<const Range> ranges);

// The work of each layer, as shares of a gradient's work: all shares of all layers sum to 1.
struct LayerWork {
  double forward, backward;
};
std::vector<LayerWork> layer_work(const ModelSpec& spec);

// Sizes that are valid for phantom models, too.
std::int64_t parameter_count(const ModelSpec& spec);
double flops_per_sample(const ModelSpec& spec);

}  // namespace psim
