// The parts of the gradient that an all-reduce with overlap sums one by one: buckets, in the order in which
// the backward pass completes them (Li et al.: PyTorch Distributed, VLDB 2020, section 3.2.3).
#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.hpp"
#include "model/values.hpp"

namespace psim {

struct Bucket {
  Range range;              // of the key space
  std::uint32_t layer = 0;  // the bucket is complete when the backward pass has computed this layer
};

// `arrays`: in the order of the weight vector. First, arrays with more than `slice` values are cut; 0: none
// is cut. Then neighbours are joined as long as they have at most `most` values together; 0: none are joined.
std::vector<Bucket> cut_in_buckets(const std::vector<ParameterArray>& arrays, std::size_t slice,
                                   std::size_t most);

}  // namespace psim
