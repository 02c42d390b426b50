// Which parts of the gradient an all-reduce with overlap sums at once: buckets, in the order in which the
// backward pass completes them (Li et al.: PyTorch Distributed, VLDB 2020, section 3.2.3).
#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.hpp"
#include "model/values.hpp"

namespace psim {

struct Bucket {
  Range range;              // of the key space
  std::uint32_t layer = 0;  // complete when the backward pass has computed this one
};

// `arrays` as the weight vector has them. Those with more than `slice` values are cut first; 0: none is. Then
// neighbours are put together as long as they have no more than `most` values; 0: each stays alone.
std::vector<Bucket> cut_in_buckets(const std::vector<ParameterArray>& arrays, std::size_t slice,
                                   std::size_t most);

}  // namespace psim
