// The layers of a multi-layer perceptron, and the arrays of its weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace psim {

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

}  // namespace psim
