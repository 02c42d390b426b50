// Functions over arrays. The compiler may compute several elements at once, which changes no bits.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace psim::numerics {

// Replaces each x by the function's value; the same bits as exp, tanh and sigmoid of functions.hpp.
void exp_of_each(std::span<float> x);
void exp_of_each(std::span<double> x);
void tanh_of_each(std::span<float> x);
void tanh_of_each(std::span<double> x);
void sigmoid_of_each(std::span<float> x);
void sigmoid_of_each(std::span<double> x);

// The sum, in the precision of the elements and in a fixed order. Sixteen partial sums start at 0, and
// element i is added to sum i % 16, in the order of i. Then the second half of the sums is added to the
// first, until one is left: sum j += sum j + 8, then + 4, + 2, + 1.
float sum(std::span<const float> x);
double sum(std::span<const double> x);

// The values of a batch: a row is a feature, a column is a sample.

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

// Turns rows into columns, by blocks of 4 x 4 in registers.

// Scattered rows of `cols` values, as columns of `to`: to[c * stride + r] = rows[r][c].
template <class From, class To>
void transpose(const From* const* rows, std::size_t count, std::size_t cols, To* to, std::size_t stride) {
  typedef To Four __attribute__((vector_size(4 * sizeof(To))));  // NOLINT: `using` drops the attribute here
  std::size_t r = 0;
  for (; r + 4 <= count; r += 4) {
    const From* const* row = rows + r;
    // The next rows may lie anywhere in memory.
    const From* const* ahead = r + 8 <= count ? row + 4 : row;
    std::size_t c = 0;
    for (; c + 4 <= cols; c += 4) {
      if (c % (64 / sizeof(From)) == 0) {
        for (int i = 0; i < 4; ++i) __builtin_prefetch(ahead[i] + c);
      }
      const auto load = [c](const From* p) {
        p += c;
        return Four{static_cast<To>(p[0]), static_cast<To>(p[1]), static_cast<To>(p[2]),
                    static_cast<To>(p[3])};
      };
      const Four w = load(row[0]), x = load(row[1]), y = load(row[2]), z = load(row[3]);
      const Four wx_low = __builtin_shufflevector(w, x, 0, 4, 1, 5),
                 wx_high = __builtin_shufflevector(w, x, 2, 6, 3, 7);
      const Four yz_low = __builtin_shufflevector(y, z, 0, 4, 1, 5),
                 yz_high = __builtin_shufflevector(y, z, 2, 6, 3, 7);
      const Four columns[4] = {__builtin_shufflevector(wx_low, yz_low, 0, 1, 4, 5),
                               __builtin_shufflevector(wx_low, yz_low, 2, 3, 6, 7),
                               __builtin_shufflevector(wx_high, yz_high, 0, 1, 4, 5),
                               __builtin_shufflevector(wx_high, yz_high, 2, 3, 6, 7)};
      for (std::size_t i = 0; i < 4; ++i)
        __builtin_memcpy(to + (c + i) * stride + r, &columns[i], sizeof(Four));
    }
    for (; c < cols; ++c) {
      for (std::size_t i = 0; i < 4; ++i) to[c * stride + r + i] = static_cast<To>(row[i][c]);
    }
  }
  for (; r < count; ++r) {
    for (std::size_t c = 0; c < cols; ++c) to[c * stride + r] = static_cast<To>(rows[r][c]);
  }
}

}  // namespace psim::numerics
