// The sizes of a data set. Checks need them, and they are often known before the data set exists.
#pragma once

#include <cstdint>
#include <optional>

#include "model/data_spec.hpp"
#include "model/model_spec.hpp"

namespace psim {

struct Dataset;

// The sizes of a training set.
struct DataShape {
  std::int64_t samples = 0, features = 0;
  std::int64_t outputs = 0;    // width of the model's last layer
  bool classification = true;  // outputs are classes
  double nonzeros = 0;         // sparse data: mean number per sample
};
DataShape shape_of(const Dataset& train);

// The shape that load_data will return, if it is known without loading: for generated data.
std::optional<DataShape> known_shape(const DataSpec& spec);

// Like adapt_to(const Dataset&, ModelSpec&).
void adapt_to(const DataShape& train, ModelSpec& spec);

}  // namespace psim
