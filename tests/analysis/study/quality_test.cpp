// Goal: no arm wins by a short budget, by learning nothing, or by fewer samples. Method: studies made by
// hand.
#include <optional>

#include "analysis/study/report.hpp"
#include "tests/analysis/study/make_study.hpp"
#include "tests/support/catch.hpp"

using namespace psim::analysis;
using namespace psim::test;

TEST_CASE("a short budget of one run hides no difference of the other seeds", "[study]") {
  // One run of the baseline gives up at 2 s, when the arm has been there for 1 s. All other seeds reach the
  // target, twice as fast under the arm, but after 2 s.
  std::vector<RunFacts> slow = reaching({8, 9, 10, 11, 12, 13}), fast = reaching({4, 4.5, 5, 5.5, 6, 6.5});
  slow.push_back(missed(2));
  fast.push_back(reached(1));
  const Study s = study({}, {cell("slow", {}, slow), cell("fast", {}, fast)});
  const Evaluation e = evaluate(s);
  const VersusBaseline& versus = *e.aggregates[1].versus;
  CHECK(versus.pairs.ratio->value == Approx(0.5));
  REQUIRE(versus.order);
  CHECK(versus.order->arm == 7);
  CHECK(versus.order->baseline == 0);
  CHECK(versus.pairs.test.p == Approx(2.0 / 128));
  CHECK(remarks(s, e, {.width = 1000}).find("no difference seen") == std::string::npos);
  CHECK_THAT(remarks(s, e, {.width = 1000}), Catch::Contains("sign test"));
  // Two runs that both gave up say nothing, and a run says nothing about one that gave up before it ended.
  std::vector<RunFacts> unknown = reaching({4, 4.5, 5});
  for (int i = 0; i < 4; ++i) unknown.push_back(missed(0.5));
  const Evaluation few = evaluate(study({}, {cell("slow", {}, slow), cell("other", {}, unknown)}));
  CHECK(few.aggregates[1].versus->order->arm == 3);
  CHECK(few.aggregates[1].versus->cut_both == 4);
}

TEST_CASE("without a target an arm that diverged or learned nothing wins nothing", "[study]") {
  const RunFacts sound{.time = 2, .loss = 0.5, .first_loss = 1},
      also{.time = 2.5, .loss = 0.5, .first_loss = 1};
  for (const std::optional<double>& last :
       {std::optional<double>(), std::optional(1.0), std::optional(7.0)}) {
    const RunFacts bad{.time = 1, .bytes = 1, .loss = last, .first_loss = 1};
    const Study s = study({"k"}, {cell("sound", {"1"}, {sound, also}), cell("sound", {"2"}, {sound, also}),
                                  cell("bad", {"1"}, {bad, bad}), cell("bad", {"2"}, {also, bad})});
    const Evaluation e = evaluate(s);
    CHECK(e.unequal_quality);
    CHECK(e.profiles.empty());
    CHECK(e.aggregates[0].pareto);
    CHECK_FALSE(e.aggregates[2].pareto);
    CHECK(e.aggregates[2].diverged + e.aggregates[2].unlearned == 2);
    CHECK((e.aggregates[2].diverged > 0) == !last);
    const std::string text = table(s, e, {.format = TableFormat::markdown});
    CHECK_THAT(text,
               Catch::Contains(last ? "learned nothing" : "diverged") && Catch::Contains("with 1/2 seeds"));
    CHECK(text.find("faster") == std::string::npos);
    CHECK_THAT(remarks(s, e, {.width = 1000}), Catch::Contains("so no arm wins"));
  }
}

TEST_CASE("without a target runs are compared at equal samples, too", "[study]") {
  std::vector<RunFacts> all, most;
  for (const double time : {4.0, 4.1, 4.2}) {
    all.push_back({.time = time, .samples_per_s = 1600});
    most.push_back({.time = time / 4 * 3, .samples_per_s = 1866.67});  // 14 of 16 gradients
  }
  const Study s = study({}, {cell("bsp", {}, all), cell("backup", {}, most)});
  const Evaluation e = evaluate(s);
  CHECK(e.unequal_updates);
  CHECK_THAT(remarks(s, e, {.width = 1000}),
             Catch::Contains("backup learned from 0.875 times as many samples as bsp; at equal "
                             "samples it is 1.17x faster"));
  CHECK_THAT(table(s, e, {.width = 60}), Catch::Contains("samples"));
  CHECK_FALSE(evaluate(study({}, {cell("a", {}, all), cell("b", {}, all)})).unequal_updates);
}
