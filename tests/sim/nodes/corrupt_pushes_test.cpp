// Goal: each way in which a fault corrupts a push, on values made by hand. Method: the faults of a scenario
// begin and end at dates that the test chooses.
#include "sim/nodes/job/corrupt_pushes.hpp"

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/sim/nodes/stage.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Three workers of a plan whose faults are these, each with its own fields.
Planned with_faults(const std::vector<std::string>& faults, const std::string& precision = "float64") {
  std::string text = "[model]\nlayers = [64, 10]\nprecision = \"" + precision +
                     "\"\n[training]\nsteps = 9\n[cluster]\nworkers = 3\n";
  for (const std::string& fields : faults)
    text += "[[fault]]\nkind = \"corrupt\"\nnodes = [\"worker 0\"]\nat = \"1s\"\n" + fields + "\n";
  return Planned(text);
}

Numbers numbers_of(const std::shared_ptr<Values>& values) {
  const auto all = values->as<double>();
  return {all.begin(), all.end()};
}

// What worker 0 pushes for `computed`, with all faults of the scenario in force.
Numbers pushed_for(const Planned& planned, const Numbers& computed, std::int64_t clock = 0) {
  CorruptPushes pushes(planned.plan());
  for (const FaultSpec& fault : planned.plan().scenario.faults) pushes.set(0, fault, true);
  return numbers_of(pushes.pushed(0, clock, 1, values_of(computed)));
}

}  // namespace

TEST_CASE("corrupt: sign, scale and constant", "[roles][corrupt]") {
  const Numbers computed{1.5, -2, 0};
  CHECK(pushed_for(with_faults({"how = \"sign\""}), computed) == Numbers{-1.5, 2, 0});
  CHECK(pushed_for(with_faults({"factor = 10"}), computed) == Numbers{-15, 20, 0});
  CHECK(pushed_for(with_faults({"how = \"scale\"\nfactor = -0.5"}), computed) == Numbers{-0.75, 1, 0});
  CHECK(pushed_for(with_faults({"how = \"constant\"\nfactor = 7"}), computed) == Numbers{7, 7, 7});
  const Numbers twice = pushed_for(with_faults({"how = \"constant\"\nfactor = 7", "factor = 2"}), computed);
  CHECK(twice == Numbers{-14, -14, -14});
}

TEST_CASE("corrupt: only the fault's workers, only until it ends, and never what was computed",
          "[roles][corrupt]") {
  const Planned planned = with_faults({"factor = 1"});
  const FaultSpec& fault = planned.plan().scenario.faults.front();
  CorruptPushes pushes(planned.plan());
  const std::shared_ptr<Values> computed = values_of({3});
  CHECK(pushes.pushed(0, 0, 1, computed) == computed);
  pushes.set(0, fault, true);
  CHECK(numbers_of(pushes.pushed(0, 1, 2, computed)) == Numbers{-3});
  CHECK(pushes.pushed(1, 1, 2, computed) == computed);
  pushes.set(0, fault, false);
  CHECK(pushes.pushed(0, 2, 3, computed) == computed);
  CHECK(numbers_of(computed) == Numbers{3});
  CHECK(pushes.pushed(0, 3, 4, nullptr) == nullptr);
}

TEST_CASE("corrupt: noise is normal, as large as it says, and drawn by worker and clock",
          "[roles][corrupt]") {
  const Planned planned = with_faults({"how = \"noise\"\nfactor = 2"});
  Numbers computed(40'000, 3);
  for (std::size_t i = 0; i < computed.size(); i += 2) computed[i] = -3;
  Numbers noise = pushed_for(planned, computed);
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] -= computed[i];
  const auto count = static_cast<double>(noise.size());
  const double mean = std::accumulate(noise.begin(), noise.end(), 0.0) / count;
  const double squares = std::inner_product(noise.begin(), noise.end(), noise.begin(), 0.0) / count;
  double fourth = 0;
  for (const double one : noise) fourth += one * one * one * one / count;
  CHECK(std::abs(mean) < 4 * 6 / std::sqrt(count));
  CHECK(std::sqrt(squares) == Approx(6).epsilon(0.02));
  CHECK(fourth / (squares * squares) == Approx(3).epsilon(0.06));
  CHECK(pushed_for(planned, computed) == pushed_for(planned, computed));
  CHECK(pushed_for(planned, computed, 0) != pushed_for(planned, computed, 1));
}

TEST_CASE("corrupt: a copy is of what the other worker had computed before this date", "[roles][corrupt]") {
  const Planned planned = with_faults({"how = \"copy\"\nof = \"worker 2\""});
  CorruptPushes pushes(planned.plan());
  pushes.set(0, planned.plan().scenario.faults.front(), true);
  const auto push = [&](double date, double computed) {
    return numbers_of(pushes.pushed(0, 5, date, values_of({computed}))).front();
  };
  CHECK(push(1, 10) == 10);  // there is nothing yet
  const std::shared_ptr<Values> first = values_of({20});
  CHECK(pushes.pushed(2, 0, 1, first) == first);
  CHECK(push(1, 11) == 11);  // of this date
  CHECK(push(2, 12) == 20);
  first->as<double>()[0] = -1;  // as an all-reduce does
  CHECK(push(2, 12) == 20);
  pushes.pushed(2, 1, 3, values_of({30}));
  CHECK(push(3, 13) == 20);
  CHECK(push(4, 14) == 30);
}

TEST_CASE("corrupt: values are rounded as they are sent", "[roles][corrupt]") {
  const Planned planned = with_faults({"how = \"constant\"\nfactor = 0.1"}, "bfloat16");
  CorruptPushes pushes(planned.plan());
  pushes.set(0, planned.plan().scenario.faults.front(), true);
  const auto computed = std::make_shared<Values>(Values::zeros(Precision::float32, 1));
  CHECK(pushes.pushed(0, 0, 1, computed)->as<float>()[0] == 0.10009765625F);
}
