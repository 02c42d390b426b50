// Which samples are kept for the test, which for validation, and which are learned from.
#pragma once

#include <cstdint>

namespace psim {

struct Dataset;
struct DataSplit;

// How many of `samples` a share of `fraction` is, rounded to the nearest.
std::int64_t share_of(std::int64_t samples, double fraction);

// Test samples are a random choice among all. Within both parts the samples keep their order, so that
// `contiguous` shards still follow the file. Throws DataError when none are left to train on.
DataSplit split_test(Dataset data, double fraction, std::uint64_t seed);

// Moves a share of the training samples to the validation set. They are a random choice, stratified where the
// data have classes: each class gives its share, rounded so that the shares sum to that of all (by largest
// remainder). Both parts keep their order. Draws are of a stream of their own: the test set is the same for
// every `fraction`. Throws DataError when a part would be empty, or would miss a class.
DataSplit hold_out(DataSplit data, double fraction, std::uint64_t seed);

}  // namespace psim
