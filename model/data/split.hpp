// Which samples are for the test, for validation, and for training.
#pragma once

#include <cstdint>

namespace psim {

struct Dataset;
struct DataSplit;

// The number of samples in a share `fraction` of `samples`, rounded to the nearest.
std::int64_t share_of(std::int64_t samples, double fraction);

// Test samples are a random choice among all samples. Within both parts the samples keep their order, so that
// `contiguous` shards still follow the file. Throws DataError if no training samples are left.
DataSplit split_test(Dataset data, double fraction, std::uint64_t seed);

// Moves a share of the training samples to the validation set. The choice is random, stratified where the
// data have classes: each class gives its share, rounded so that the shares sum to the share of all samples
// (by largest remainder). Both parts keep their order. The draws have their own stream: the test set is the
// same for every `fraction`. Throws DataError if a part would be empty, or would lack a class.
DataSplit hold_out(DataSplit data, double fraction, std::uint64_t seed);

}  // namespace psim
