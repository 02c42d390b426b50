// The article's network, by hand and by psim: losses of the shipped scenario, to the precision of a double.

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

TEST_CASE("the worked example's losses are those of the calculation by hand", "[oracle]") {
  const Json summary = run_file("scenarios/worked_example.toml");
  const std::vector<double> expected{317.33434400000004, 1.1942811999281961, 3.5246454373735516,
                                     11.254623592662233, 31.323827579200128, 55.13247552121236};
  REQUIRE(summary["curve"].size() >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(summary["curve"][i]["loss"].get<double>() == Approx(expected[i]).epsilon(1e-12));
  }
  // Sums of 5, 4 and 3 products, a square and a sum of two: at most 25 roundings.
  CHECK(summary["initial"]["loss"].get<double>() == Approx(317.334344).epsilon(3e-15));
}
