// The part of an array that huge pages can hold.
#include "model/base/memory.hpp"

#include <algorithm>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr std::uintptr_t page = 2U << 20U;

}  // namespace

TEST_CASE("huge pages lie within their array", "[data]") {
  const auto [begin, bytes, first, pages] =
      GENERATE(table<std::uintptr_t, std::size_t, std::uintptr_t, std::size_t>({
          {page, page, page, 1},
          {page + 16, page, 0, 0},
          {page + 16, 2 * page, 2 * page, 1},
          {page - 16, 2 * page, page, 1},
          {3 * page, 5 * page - 1, 3 * page, 4},
          {0, 0, 0, 0},
      }));
  const HugePages found = huge_pages_within(begin, bytes);
  CHECK(found.begin == first);
  CHECK(found.bytes == pages * page);
}

TEST_CASE("an array keeps its content when it gets huge pages", "[data]") {
  std::vector<char> array(std::size_t{9} << 20U, 'a');
  prefer_huge_pages(array.data(), array.size());
  CHECK(std::ranges::count(array, 'a') == std::ssize(array));
}
