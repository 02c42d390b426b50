// Columns of a table whose rows are samples.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/dataset.hpp"

namespace psim {

struct Column {
  std::size_t number = 0;  // from 1
  std::string name = {};   // from the header; empty without a header

  std::string shown() const;  // in messages
  std::string key() const;    // in a scenario
};

// Notes on features that seem to number the samples, and on features of very different sizes. `columns`:
// those of the features.
void note_columns(Dataset& data, const std::vector<Column>& columns, bool standardized);

// Turns each feature x into (x - mean) / sd, with the mean and the standard deviation of the training samples
// (dividing by their number, as scikit-learn's StandardScaler does). If it is constant in these, it becomes
// 0.
void standardize(DataSplit& data);

}  // namespace psim
