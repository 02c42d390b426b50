// Goal: an expression has the value that one reads, and a mistake in it is shown where it is.
#include "model/base/formula.hpp"

#include <string>
#include <vector>

#include "model/numerics/functions.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

double value(const std::string& text) { return Formula(text, {"clock", "min_clock"}).of({5, 2}); }

FormulaMistake mistake(const std::string& text) {
  try {
    Formula(text, {"clock", "min_clock"});
  } catch (const FormulaMistake& found) {
    return found;
  }
  return {.message = "none"};
}

}  // namespace

TEST_CASE("expressions: arithmetic, comparisons, conditions and functions", "[formula]") {
  CHECK(value("clock - min_clock * 2") == 1);
  CHECK(value("clock - min_clock <= 3") == 1);
  CHECK(value("clock - min_clock <= 2") == 0);
  CHECK(value("clock >= 5 && not(min_clock == 3)") == 1);
  CHECK(value("clock < 5 || min_clock != 2") == 0);
  CHECK(value("clock > 3 ? min(clock, 4) : max(clock, 9)") == 4);
  CHECK(value("true") == 1);
  CHECK(value("false") == 0);
  CHECK(value("sqrt(clock - 1) ^ 2") == Approx(4));
}

TEST_CASE("expressions: functions and powers are psim's own", "[formula]") {
  CHECK(value("exp(clock)") == numerics::exp(5.0));
  CHECK(value("log(clock)") == numerics::log(5));
  CHECK(value("ln(clock)") == numerics::log(5));
  CHECK(value("log2(8) + log10(1000)") == 6);
  CHECK(value("tanh(min_clock)") == numerics::tanh(2.0));
  CHECK(value("abs(min_clock - clock) + sign(-clock) * sqrt(4)") == 1);
  CHECK(value("floor(2.5) + 10 * ceil(2.5) + 100 * rint(2.5)") == 332);
  CHECK(value("sum(1, 2, clock) + 100 * avg(1, 2) + min(4, 3, 9) * 1000 + max(1, 7, 2) * 10000") == 73158);
  CHECK(value("pow(clock, 0.3)") == numerics::pow(5, 0.3));
  CHECK(value("clock ^ 0.3") == numerics::pow(5, 0.3));
  CHECK(value("2 ^ 3 ^ min_clock") == 512);  // from the right
  CHECK(value("-clock ^ 2 * 2") == -50);
  CHECK(value("2^-1 + 3 * min_clock^2") == 12.5);
  CHECK(mistake("sin(clock)").message ==
        "`sin` is not a known name");  // its bits would be those of the C library
  const FormulaMistake sign = mistake("clock # 2");
  CHECK(sign.message == "psim does not understand this");
  CHECK(sign.at == 6);
  CHECK(sign.length == 1);
}

TEST_CASE("expressions: what is no number holds nowhere", "[formula]") {
  CHECK_FALSE(Formula("0 / 0", {}).holds({}));
  CHECK_FALSE(Formula("0", {}).holds({}));
  CHECK(Formula("0.5", {}).holds({}));
}

TEST_CASE("expressions: they know what they use, and tell its value", "[formula]") {
  const Formula formula("clock > 3", {"clock", "min_clock"});
  CHECK(formula.uses("clock"));
  CHECK_FALSE(formula.uses("min_clock"));
  CHECK(formula.with(std::vector<double>{5, 2}) == "clock = 5");
  const Formula copy = formula;
  CHECK(copy.of({2, 0}) == 0);
  CHECK(formula.of({7, 0}) == 1);
}

TEST_CASE("expressions: a mistake has its place", "[formula]") {
  struct Case {
    std::string text;
    std::size_t at, length;
  };
  for (const Case& one : {Case{"clok > 1", 0, 4}, Case{"clock > mins", 8, 4}, Case{"clock = 3", 6, 1},
                          Case{"clock)", 5, 1}, Case{"1, 2", 1, 1}}) {
    INFO(one.text);
    const FormulaMistake found = mistake(one.text);
    CHECK(found.message != "none");
    CHECK(found.at == one.at);
    CHECK(found.length == one.length);
  }
  CHECK(mistake("clok > 1").help == "the names are clock, min_clock");
  for (const std::string& text :
       std::vector<std::string>{"", "  ", "clock >", "(clock", "clock clock", "min()", "\"a\"", "foo(3)",
                                "a=b", std::string(501, '1')}) {
    INFO(text);
    const FormulaMistake found = mistake(text);
    CHECK(found.message != "none");
    CHECK(found.at + found.length <= text.size());
  }
}

TEST_CASE("a promise is about one number of an event", "[formula]") {
  const Promise gap("clock_gap <= staleness", {.workers = 4, .k = 2, .staleness = 3});
  CHECK(gap.about() == Promise::About::clock_gap);
  CHECK(gap.holds(3));
  CHECK_FALSE(gap.holds(4));
  CHECK(Promise("age < workers / k", {.workers = 4, .k = 2, .staleness = 3}).about() == Promise::About::age);
  CHECK(Promise("pushes == k", {.workers = 4, .k = 2, .staleness = 3}).holds(2));
  CHECK_THROWS_AS(Promise("age < pushes", {}), FormulaMistake);
  CHECK_THROWS_AS(Promise("workers > 3", {}), FormulaMistake);
}
