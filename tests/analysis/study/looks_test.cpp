// Goal: a study says when the dates of evaluations may have decided what its table shows. Method: studies
// made by hand, on both sides of each limit.
#include <string>
#include <vector>

#include "analysis/study/report.hpp"
#include "tests/analysis/study/make_study.hpp"
#include "tests/support/catch.hpp"

using namespace psim::analysis;
using namespace psim::test;

namespace {

// Two arms that reach their target after 10 s, with two workers that finish 100 clocks each.
Study looked(const std::string& every, double last_miss, double updates_of_b, bool with_target = true) {
  RunFacts facts = reached(10, 20);
  facts.target = with_target;
  Study made = study({}, {cell("a", {}, {facts, facts}), cell("b", {}, {facts, facts})});
  for (Cell& one : made.cells) {
    for (StudyRun& run : one.runs) {
      run.summary["evaluate_every"] = every;
      run.summary["steps"] = 200;
      run.summary["workers"] = Json::array({Json::object(), Json::object()});
      run.summary["target"]["last_miss_s"] = last_miss;
    }
  }
  for (StudyRun& run : made.cells[1].runs) run.summary["updates"] = updates_of_b;
  return made;
}

std::vector<std::string> remarks_of(const Study& made) { return remarks_on_looks(evaluate(made)); }

}  // namespace

TEST_CASE("a grid of evaluations that is coarse for a time is noted", "[looks]") {
  CHECK(remarks_of(looked("100ms", 9.51, 100)).empty());  // 4.9 %
  const std::vector<std::string> coarse = remarks_of(looked("100ms", 9.4, 100));
  REQUIRE(coarse.size() == 1);
  CHECK(coarse[0].find("up to 6 % of the time to the target (a; b)") != std::string::npos);
}

TEST_CASE("looking by updates is noted where arms make unlike numbers of them", "[looks]") {
  CHECK(remarks_of(looked("50 updates", 9.9, 149)).empty());
  const std::vector<std::string> uneven = remarks_of(looked("50 updates", 9.9, 200));
  REQUIRE(uneven.size() == 1);
  CHECK(uneven[0].find("b makes 2 times as many updates in a clock as a") != std::string::npos);
  CHECK(uneven[0].find("evaluate_every = \"50 updates\"") != std::string::npos);
  CHECK(remarks_of(looked("50 samples", 9.9, 200)).empty());
  CHECK(remarks_of(looked("50ms", 9.9, 200)).empty());
  CHECK(remarks_of(looked("50 updates", 9.9, 200, false)).empty());
}

TEST_CASE("arms with unlike numbers of workers are looked at alike where their clocks have as many updates",
          "[looks]") {
  Study made = looked("50 updates", 9.9, 100);
  for (StudyRun& run : made.cells[1].runs) {  // twice as many workers, each with as many clocks
    run.summary["steps"] = 400;
    run.summary["workers"] = Json::array({Json::object(), Json::object(), Json::object(), Json::object()});
  }
  CHECK(remarks_of(made).empty());
  for (StudyRun& run : made.cells[1].runs) run.summary["updates"] = 400;
  CHECK(remarks_of(made).size() == 1);
}

TEST_CASE("looks are compared within a condition", "[looks]") {
  Study made = looked("50 updates", 9.9, 400);
  made.condition_axes = {"workers"};
  made.cells[0].condition = {"2"};
  made.cells[1].condition = {"4"};
  made.cells[1].arm = made.cells[0].arm;
  CHECK(remarks_of(made).empty());
}
