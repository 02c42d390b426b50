// The messages about samples: from where workers get them, and who computes them (stealing.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/values.hpp"
#include "sim/protocol/filter.hpp"

namespace psim {

struct BatchKeys;

// Worker to database: send me the samples of step `step`, `sample_bytes` bytes of them. Samples are the
// answer. With `samples` it asks, also another worker, for samples that it is to hold from now on; then
// `step` counts such requests.
struct Fetch {
  std::int64_t step = 0;
  std::uint64_t sample_bytes = 0;
  SharedKeys samples = {};
};
struct Samples {
  std::int64_t step = 0;
  std::uint64_t sample_bytes = 0;
  bool lacks = false;  // the sender has not all of them, and sends none
};
// Worker to worker: I have computed my samples of `clock` and can compute some of yours; give me the pieces
// of mine that you have. `leaves`: I have done all clocks, and compute nothing any more.
struct Idle {
  std::int64_t clock = 0;
  bool leaves = false;
};
// Worker to worker: compute these samples of mine. `number` counts the sender's pieces.
struct Piece {
  std::int64_t clock = 0, number = 0, count = 0;
  SharedKeys samples = {};                 // null: of a phantom model
  std::uint64_t bytes = 0;                 // of samples, or of their names, and of weights
  std::shared_ptr<Assembly> weights = {};  // of a sparse model, for these keys; else the receiver's own
  std::shared_ptr<const BatchKeys> keys = {};
};
// The answer: the mean gradient of `samples` samples, those of the pieces `pieces` of the receiver's.
struct PieceGradient {
  std::int64_t clock = 0, samples = 0;
  std::vector<std::int64_t> pieces = {};
  std::shared_ptr<const Values> gradient = {};  // null: of a phantom model
  std::uint64_t bytes = 0;
};

}  // namespace psim
