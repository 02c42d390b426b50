// Goal: conditions mean what they say, and what is wrong with one is shown at its place.
#include "sim/scenario/spec/faults.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using Quantity = FaultCondition::Quantity;

namespace {

FaultCondition condition(const std::string& text) {
  const auto parsed = parse_condition(text);
  INFO(text);
  REQUIRE(std::holds_alternative<FaultCondition>(parsed));
  return std::get<FaultCondition>(parsed);
}

// The words that an error points at.
std::string wrong_in(const std::string& text) {
  const auto parsed = parse_condition(text);
  INFO(text);
  REQUIRE(std::holds_alternative<ConditionError>(parsed));
  const auto& error = std::get<ConditionError>(parsed);
  REQUIRE(error.begin + error.length <= text.size());
  return text.substr(error.begin, error.length);
}

}  // namespace

TEST_CASE("a condition is a quantity, a comparison and a bound", "[faults]") {
  const FaultCondition loss = condition("loss < 0.5");
  CHECK(loss.quantity == Quantity::loss);
  CHECK(loss.holds(0.49));
  CHECK_FALSE(loss.holds(0.5));
  CHECK(condition("loss <= 0.5").holds(0.5));
  CHECK_FALSE(condition("accuracy > 0.9").holds(0.9));
  CHECK(condition("accuracy>=0.9").holds(0.9));
  CHECK(condition("updates >= 200").quantity == Quantity::updates);
  const FaultCondition clock = condition("clock of worker 3 = 100");
  CHECK(clock.quantity == Quantity::clock);
  CHECK(clock.node == "worker 3");
  CHECK_FALSE(clock.holds(99));
  CHECK(clock.holds(101));  // it may skip one
  CHECK(condition("server 1 crashed").node == "server 1");
  CHECK(condition("server 1 crashed").quantity == Quantity::crashed);
}

TEST_CASE("what is wrong with a condition is pointed at", "[faults]") {
  CHECK(wrong_in("los < 0.5") == "los");
  CHECK(wrong_in("loss = 0.5") == "=");
  CHECK(wrong_in("updates < 5") == "<");
  CHECK(wrong_in("updates >= many") == "many");
  CHECK(wrong_in("updates >= 1.5") == "1.5");
  CHECK(wrong_in("accuracy > 90") == "90");
  CHECK(wrong_in("loss < 0.5 today") == "today");
  CHECK(wrong_in("clock of server 1 = 3") == "server");
  CHECK(wrong_in("clock worker 1 = 3") == "worker");
  CHECK(wrong_in("loss") == "loss");
  CHECK(wrong_in("loss <") == "<");
  CHECK(wrong_in("crashed") == "crashed");
  CHECK(wrong_in("  ") == "  ");
}
