// Goal: rows become columns, whatever their number. Method: every element, for sizes around the block of
// four.
#include "model/numerics/matrices.hpp"

#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("scattered rows become columns, and nothing beyond them is written") {
  for (const std::size_t count : {1U, 3U, 4U, 9U, 16U}) {
    for (const std::size_t cols : {1U, 2U, 4U, 7U, 33U}) {
      std::vector<std::vector<float>> data(count, std::vector<float>(cols));
      std::vector<const float*> rows;
      for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t c = 0; c < cols; ++c) data[r][c] = static_cast<float>(100 * r + c);
        rows.push_back(data[r].data());
      }
      const std::size_t stride = count + 2;
      std::vector<double> out(cols * stride, -1.0);
      numerics::transpose(rows.data(), count, cols, out.data(), stride);
      for (std::size_t c = 0; c < cols; ++c) {
        for (std::size_t r = 0; r < stride; ++r)
          CHECK(out[c * stride + r] == (r < count ? static_cast<double>(100 * r + c) : -1.0));
      }
    }
  }
}
