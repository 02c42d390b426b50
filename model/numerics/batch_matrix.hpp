// The values of a batch: a row is a feature, a column is a sample.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace psim::numerics {

// Rows begin at multiples of 64 bytes, so no vector of a product crosses a cache line. The columns after the
// last sample hold anything. A matrix that is resized keeps its memory if it is large enough.
template <class Scalar>
class BatchMatrix {
 public:
  void resize(std::size_t rows, std::size_t samples) {
    constexpr std::size_t line = 64 / sizeof(Scalar);
    rows_ = rows;
    samples_ = samples;
    stride_ = (samples + line - 1) / line * line;
    if (rows_ * stride_ <= capacity_) return;
    capacity_ = rows_ * stride_;
    values_.reset(new (std::align_val_t{64}) Scalar[capacity_]());
  }

  std::size_t rows() const { return rows_; }
  std::size_t samples() const { return samples_; }
  std::size_t stride() const { return stride_; }
  std::size_t size() const { return rows_ * stride_; }
  Scalar* data() { return values_.get(); }
  const Scalar* data() const { return values_.get(); }
  Scalar* row(std::size_t i) { return data() + i * stride_; }
  const Scalar* row(std::size_t i) const { return data() + i * stride_; }

  std::vector<const Scalar*> row_pointers() const {
    std::vector<const Scalar*> result(rows_);
    for (std::size_t i = 0; i < rows_; ++i) result[i] = row(i);
    return result;
  }

 private:
  struct Free {
    void operator()(Scalar* p) const { operator delete[](p, std::align_val_t{64}); }
  };
  std::unique_ptr<Scalar[], Free> values_;
  std::size_t rows_ = 0, samples_ = 0, stride_ = 0, capacity_ = 0;
};

}  // namespace psim::numerics
