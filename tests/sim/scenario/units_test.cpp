// Quantities as texts.
#include "sim/scenario/spec/units.hpp"

#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("a quantity is written in the unit in which it is short", "[units]") {
  CHECK(format_quantity(FlopsPerSecond{1e10}) == "10Gf");
  CHECK(format_quantity(FlopsPerSecond{2.5e7}) == "25Mf");
  CHECK(format_quantity(BytesPerSecond{5e8}) == "500MBps");
  CHECK(format_quantity(Seconds{5e-5}) == "50us");
  CHECK(format_quantity(Seconds{0.05}) == "0.05s");
  CHECK(format_quantity(Seconds{7200}) == "7200s");
  CHECK(format_quantity(Bytes{65536}) == "65536B");
}

TEST_CASE("a quantity's text reads back as the same number", "[units]") {
  for (const double value : {0.0, 1e-300, 1.0 / 3e6, 7e-5, 1e23, 123456789e9, 0.1 + 0.2, 2e9 / 3}) {
    CHECK(parse_quantity(format_quantity(Seconds{value}), Unit<Seconds>::names) == value);
    CHECK(parse_quantity(format_quantity(Bytes{value}), Unit<Bytes>::names) == value);
    CHECK(parse_quantity(format_quantity(BytesPerSecond{value}), Unit<BytesPerSecond>::names) == value);
    CHECK(parse_quantity(format_quantity(FlopsPerSecond{value}), Unit<FlopsPerSecond>::names) == value);
  }
}
