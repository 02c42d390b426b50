// The messages about samples: the source of a worker's samples, and work stealing (stealing.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/values.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/protocol/message_facts.hpp"

namespace psim {

struct BatchKeys;

// Worker to database: send me the samples of step `step`, `sample_bytes` bytes. The answer is Samples. With
// `samples` the worker asks the database, or another worker, for samples that it holds from now on; then
// `step` counts such requests.
struct Fetch {
  std::int64_t step = 0;
  std::uint64_t sample_bytes = 0;
  SharedKeys samples = {};

  std::uint64_t wire_bytes() const { return 0; }
  MessageFacts facts() const { return {.kind = MessageKind::fetch, .part = step, .keys = count_of(samples)}; }
};
struct Samples {
  std::int64_t step = 0;
  std::uint64_t sample_bytes = 0;
  bool lacks = false;  // the sender lacks some of the samples, and sends none

  std::uint64_t wire_bytes() const { return sample_bytes; }
  MessageFacts facts() const { return {.kind = MessageKind::samples, .part = step}; }
};
// Worker to worker: I have computed my samples of `clock` and can compute some of yours; return the pieces of
// my samples that you have. `leaves`: I have done all clocks, and compute nothing more.
struct Idle {
  std::int64_t clock = 0;
  bool leaves = false;

  std::uint64_t wire_bytes() const { return two_words; }
  MessageFacts facts() const { return {.kind = MessageKind::idle, .clock = clock}; }
};
// Worker to worker: compute these samples of mine. `number` counts the sender's pieces.
struct Piece {
  std::int64_t clock = 0, number = 0, count = 0;
  SharedKeys samples = {};                 // null: of a phantom model
  std::uint64_t bytes = 0;                 // of samples, or of their numbers, and of weights
  std::shared_ptr<Assembly> weights = {};  // sparse model: of these keys; else the receiver uses its own
  std::shared_ptr<const BatchKeys> keys = {};

  std::uint64_t wire_bytes() const { return bytes; }
  MessageFacts facts() const {
    return {.kind = MessageKind::piece,
            .clock = clock,
            .part = number,
            .samples = count,
            .keys = count_of(samples)};
  }
};
// The answer: the mean gradient of `samples` samples, those of the pieces `pieces` of the receiver's.
struct PieceGradient {
  std::int64_t clock = 0, samples = 0;
  std::vector<std::int64_t> pieces = {};
  std::shared_ptr<const Values> gradient = {};  // null: of a phantom model
  std::uint64_t bytes = 0;

  std::uint64_t wire_bytes() const { return bytes; }
  MessageFacts facts() const {
    return {.kind = MessageKind::gradient,
            .clock = clock,
            .pieces = std::ssize(pieces),
            .samples = samples,
            .values = static_cast<std::uint32_t>(gradient ? gradient->size() : 0)};
  }
};

}  // namespace psim
