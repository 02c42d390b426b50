// Turns rows into columns, by blocks of 4 x 4 in registers.
#pragma once

#include <cstddef>

namespace psim::numerics {

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
