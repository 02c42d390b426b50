// The sizes of a data set, which checks need, and which are often known before there is a data set.
#pragma once

#include <cstdint>
#include <optional>

#include "model/data_spec.hpp"
#include "model/model_spec.hpp"

namespace psim {

struct Dataset;

// Of a training set.
struct DataShape {
  std::int64_t samples = 0, features = 0;
  std::int64_t outputs = 0;    // width of the model's last layer
  bool classification = true;  // outputs are classes
  double nonzeros = 0;         // sparse data: of a sample in the mean
};
DataShape shape_of(const Dataset& train);

// The shape that load_data will give, where it can be told without: of generated data.
std::optional<DataShape> known_shape(const DataSpec& spec);

// As adapt_to(const Dataset&, ModelSpec&).
void adapt_to(const DataShape& train, ModelSpec& spec);

}  // namespace psim
