// Goal: a study says of its runs what they show together, and no more. Method: studies made by hand, of which
// the results can be counted out.
#include <algorithm>
#include <cmath>

#include "analysis/study/report.hpp"
#include "tests/analysis/study/make_study.hpp"
#include "tests/support/catch.hpp"

using namespace psim::analysis;
using namespace psim::test;

TEST_CASE("a run that missed its target counts with its budget", "[study]") {
  const Study s = study(
      {}, {cell("a", {}, reaching({2, 4, 6}, 10)), cell("b", {}, {reached(1, 10), missed(10), missed(10)})});
  const Evaluation e = evaluate(s);
  CHECK(e.has_target);
  CHECK(e.aggregates[0].time_to_target->restricted_mean_s == 4);
  CHECK(e.aggregates[0].time_to_target->budget_s == 10);
  CHECK(e.aggregates[0].time_to_target->median_s == 4);
  CHECK(e.aggregates[1].time_to_target->restricted_mean_s == 7);
  CHECK_FALSE(e.aggregates[1].time_to_target->median_s);  // fewer than half made it
  CHECK(e.aggregates[1].reached == 1);
  CHECK_FALSE(e.aggregates[1].time);
  CHECK(e.aggregates[1].versus->pairs.ratio->value == Approx(std::cbrt(1.0 / 2 * 10 / 4 * 10 / 6)));
  CHECK(e.aggregates[1].versus->pairs.better == Approx(1.0 / 3));
  CHECK_FALSE(e.aggregates[0].versus);
}

TEST_CASE("different budgets are bridged by Kaplan-Meier curves", "[study]") {
  const Study s =
      study({}, {cell("a", {}, {reached(2), missed(3), reached(4)}), cell("b", {}, reaching({1, 1, 1}))});
  const Evaluation e = evaluate(s);
  // Survival: 1 until 2, 2/3 until 4, then 0; so the area is 2 + 2 * 2/3.
  CHECK(e.aggregates[0].time_to_target->by_kaplan_meier);
  CHECK(e.aggregates[0].time_to_target->budget_s == 4);
  CHECK(e.aggregates[0].time_to_target->restricted_mean_s == Approx(10.0 / 3));
  CHECK(e.aggregates[0].time_to_target->median_s == 4);
  CHECK(e.aggregates[1].time_to_target->restricted_mean_s == 1);
  CHECK(e.aggregates[1].versus->budget_s == 3);  // of the seed whose run missed; other seeds count in full
  CHECK(e.aggregates[1].versus->pairs.ratio->value == Approx(std::cbrt(1.0 / 2 / 3 / 4)));
  CHECK(e.aggregates[1].versus->order->arm == 3);
  CHECK(e.aggregates[1].versus->pairs.test.p == Approx(0.25));
}

TEST_CASE("a run that got stuck takes longer than any budget", "[study]") {
  RunFacts stuck = missed(50);
  stuck.stuck = true;
  stuck.budget.reset();
  const Evaluation e =
      evaluate(study({}, {cell("a", {}, reaching({2, 4})), cell("b", {}, {reached(1), stuck})}));
  CHECK(e.aggregates[1].time_to_target->budget_s ==
        1);  // of its own: what the other arm did is not known here
  CHECK(e.aggregates[1].time_to_target->restricted_mean_s == 1);
  CHECK(e.aggregates[1].time_to_target->cut == 1);
  CHECK(e.aggregates[1].versus->budget_s == 4);  // long enough for both
  CHECK(e.notes.front().name == "stuck");
  const Evaluation never = evaluate(study({}, {cell("a", {}, {stuck, stuck})}));
  CHECK(never.aggregates[0].time_to_target->restricted_mean_s == 50);
  CHECK(never.aggregates[0].reached == 0);
  // Its length says nothing where there is no target.
  RunFacts without{.time = 50, .stuck = true};
  const Evaluation lengths =
      evaluate(study({}, {cell("a", {}, lasting({2, 4})), cell("b", {}, {{.time = 1}, without})}));
  CHECK(lengths.aggregates[0].time->mean == 3);
  CHECK_FALSE(lengths.aggregates[1].time);
  CHECK_FALSE(lengths.aggregates[1].versus);
}

TEST_CASE("a run that ended by itself before its duration was watched until its end only", "[study]") {
  RunFacts early = missed(1);  // by its steps
  early.budget = 10;
  const Evaluation e = evaluate(study({}, {cell("long", {}, reaching({0.5, 2, 3, 4}, 10)),
                                           cell("short", {}, {reached(0.5, 10), early, early, early})}));
  const TimeToTarget& s = *e.aggregates[1].time_to_target;
  CHECK(s.budget_s == 1);
  CHECK(s.restricted_mean_s == Approx((0.5 + 1 + 1 + 1) / 4));
  CHECK(e.aggregates[1].versus->budget_s == 1);
  CHECK(e.aggregates[1].versus->pairs.ratio->value == Approx(1));
  // A run that got stuck would have been watched until its duration.
  early.stuck = true;
  const Evaluation stuck = evaluate(study({}, {cell("a", {}, {reached(0.5, 10), early})}));
  CHECK(stuck.aggregates[0].time_to_target->budget_s == 10);
}

TEST_CASE("two arms that no pair of runs tells apart are not compared", "[study]") {
  // The arm reaches its target once, after the baseline's run has ended.
  const Study s = study({}, {cell("short", {}, {missed(0.2), missed(0.2), missed(0.2)}),
                             cell("long", {}, {missed(1.2), reached(0.9), missed(1.2)})});
  const Evaluation e = evaluate(s);
  CHECK(are_all_cut(*e.aggregates[1].versus));
  CHECK(e.family.tests == 0);
  CHECK_FALSE(e.aggregates[1].versus->p_value_holm);
  const std::string text = remarks(s, e);
  CHECK(text.find("take the same time") == std::string::npos);
  CHECK(text.find("No two runs are known") != std::string::npos);
}

TEST_CASE("another arm changes no number of a row", "[study]") {
  const Cell base = cell("base", {}, reaching({2, 3, 4, 5, 6}, 20));
  const Cell fast =
      cell("fast", {}, {reached(1, 20), reached(1.5, 20), missed(3), reached(2, 20), missed(7)});
  const Cell bad = cell("bad", {}, {missed(0.5), missed(0.6), missed(0.7), missed(0.8), missed(0.9)});
  const Study two = study({}, {base, fast}), three = study({}, {base, fast, bad});
  const Evaluation without = evaluate(two), with = evaluate(three);
  for (const std::size_t row : {0U, 1U}) {
    const TimeToTarget &a = *without.aggregates[row].time_to_target,
                       &b = *with.aggregates[row].time_to_target;
    CHECK(a.restricted_mean_s == b.restricted_mean_s);
    CHECK(a.budget_s == b.budget_s);
    CHECK(a.cut == b.cut);
    CHECK(a.interval_s->low == b.interval_s->low);
    CHECK(a.interval_s->high == b.interval_s->high);
  }
  const VersusBaseline &a = *without.aggregates[1].versus, &b = *with.aggregates[1].versus;
  CHECK(a.budget_s == 3);
  CHECK(b.budget_s == 3);
  CHECK(a.pairs.ratio->value == b.pairs.ratio->value);
  CHECK(a.pairs.ratio->interval.low == b.pairs.ratio->interval.low);
  CHECK(with.aggregates[2].versus->budget_s == 0.5);
}

TEST_CASE("who reached the target decides before times do", "[study]") {
  std::vector<RunFacts> all, none, some;
  for (int seed = 0; seed < 10; ++seed) {
    all.push_back(reached(2 + 0.1 * seed, 20));
    none.push_back(missed(1));
    some.push_back(seed < 8 ? reached(3 + 0.1 * seed, 20) : missed(20));
  }
  const Study s = study({}, {cell("all", {}, all), cell("none", {}, none), cell("some", {}, some)});
  const Evaluation e = evaluate(s);
  const VersusBaseline &lost = *e.aggregates[1].versus, &most = *e.aggregates[2].versus;
  CHECK(lost.reached->arm == 0);
  CHECK(lost.reached->baseline == 10);
  CHECK(lost.reached->p_value == 2 / 1024.0);
  CHECK(decides_by_reached(lost));
  CHECK_FALSE(has_width(lost));  // a ratio of budgets says nothing of times
  CHECK(most.reached->p_value == 0.5);
  CHECK_FALSE(decides_by_reached(most));
  CHECK(has_width(most));
  CHECK(most.cut_arm == 2);
  CHECK(most.cut_baseline == 0);
  // A test of times and one of who reached it: no times tell "none" apart, and "some" has no small p value.
  CHECK(e.family.tests == 2);
  CHECK(e.family.seeds_needed == 7);
  CHECK(*lost.reached->p_value_holm == Approx(2 * 2 / 1024.0));
  CHECK_FALSE(most.reached->p_value_holm);
}

TEST_CASE("the median of an arm lies within its own budget", "[study]") {
  // Survival: 1 until 2, 3/4 until 5, then 0 of those that are left; the arm is known until 5.
  const Study s = study({}, {cell("a", {}, {reached(2), missed(3), missed(4), reached(5)}),
                             cell("b", {}, {reached(2), missed(3), missed(4), missed(4.5)})});
  const Evaluation e = evaluate(s);
  CHECK(e.aggregates[0].time_to_target->median_s == 5);
  CHECK(e.aggregates[1].time_to_target->budget_s == 4.5);
  CHECK_FALSE(e.aggregates[1].time_to_target->median_s);
}

TEST_CASE("an interval of a time ends at its budget where runs missed it, and nowhere else", "[study]") {
  const Study s = study({}, {cell("a", {}, reaching({2, 4, 9})), cell("b", {}, reaching({2, 4, 9}, 12)),
                             cell("c", {}, {reached(2, 12), reached(4, 12), missed(12)})});
  const Evaluation e = evaluate(s);
  // Student's t of two degrees of freedom: 4.3027. The mean is 5, and the standard deviation sqrt(13).
  const double half = 4.3027 * std::sqrt(13.0 / 3);
  for (const std::size_t row : {0U, 1U}) {
    CHECK(e.aggregates[row].time_to_target->restricted_mean_s == 5);
    CHECK(e.aggregates[row].time_to_target->interval_s->high == Approx(5 + half).epsilon(1e-4));
  }
  CHECK(e.aggregates[2].time_to_target->interval_s->high == 12);
}

TEST_CASE("whether seeds change a time does not depend on how long it is", "[study]") {
  const Study s = study({}, {cell("short", {}, lasting({2e-3, 2.1e-3, 1.9e-3})),
                             cell("long", {}, lasting({5e4, 5e4 + 20, 5e4 - 20}))});
  const Evaluation e = evaluate(s);
  CHECK(e.aggregates[0].replicates);
  CHECK_FALSE(e.aggregates[1].replicates);
}

TEST_CASE("seeds that change no time are one observation", "[study]") {
  Cell a = cell("a", {}, lasting({2, 2, 2, 2, 2})), b = cell("b", {}, lasting({3, 3, 3.0001, 3, 3}));
  const Study alike = study({}, {a, b});
  const Evaluation e = evaluate(alike);
  CHECK_FALSE(e.aggregates[0].time_interval_s);
  CHECK_FALSE(e.aggregates[1].versus->replicates);
  CHECK_FALSE(e.aggregates[1].versus->pairs.trustworthy);
  CHECK_FALSE(e.aggregates[1].versus->p_value_holm);
  CHECK(e.family.tests == 0);
  CHECK(e.aggregates[1].versus->pairs.ratio->value == Approx(1.5).epsilon(1e-4));
  // One arm with luck of its own is enough.
  const Study lucky = study({}, {a, cell("c", {}, lasting({3, 3.2, 2.9, 3.1, 3}))});
  CHECK(evaluate(lucky).aggregates[1].versus->replicates);
  // Whatever their times: steps of one trace are one draw.
  Cell traced = cell("d", {}, lasting({3, 3.2, 2.9, 3.1, 3}));
  for (StudyRun& run : traced.runs) run.by_trace = true;
  const Study trace = study({}, {a, traced});
  CHECK_FALSE(evaluate(trace).aggregates[1].versus->replicates);
  CHECK_FALSE(evaluate(trace).aggregates[1].time_interval_s);
}

TEST_CASE("without a target an arm that learns clearly less is told apart", "[study]") {
  const auto ending = [](double time, const std::vector<double>& accuracies) {
    std::vector<RunFacts> runs;
    for (const double accuracy : accuracies)
      runs.push_back({.time = time + accuracy, .loss = 1 - accuracy, .accuracy = accuracy});
    return runs;
  };
  const Study s = study({}, {cell("good", {}, ending(9, {0.95, 0.96, 0.955})),
                             cell("same", {}, ending(5, {0.952, 0.958, 0.954})),
                             cell("bad", {}, ending(1, {0.78, 0.79, 0.76}))});
  const Evaluation e = evaluate(s);
  CHECK(e.aggregates[0].better == nullptr);
  CHECK(e.aggregates[1].better == nullptr);
  REQUIRE(e.aggregates[2].better != nullptr);
  CHECK(e.aggregates[2].better->cell->arm == "good");
}

TEST_CASE("an arm that may learn less by chance alone is not told apart", "[study]") {
  std::vector<RunFacts> steady, noisy;
  for (const double accuracy : {0.95, 0.96, 0.955})
    steady.push_back({.time = 9 + accuracy, .loss = 0.2, .accuracy = accuracy});
  for (const double accuracy : {0.99, 0.8, 0.97})
    noisy.push_back({.time = 1 + accuracy, .loss = 0.2, .accuracy = accuracy});
  const Study s = study({}, {cell("steady", {}, steady), cell("noisy", {}, noisy)});
  CHECK(evaluate(s).aggregates[1].better == nullptr);
}

TEST_CASE("a family has as many seeds as the comparison with the fewest, and needs them for each test once",
          "[study]") {
  const Study unequal = study({}, {cell("a", {}, lasting({2, 3, 4, 6})), cell("b", {}, lasting({5, 7, 9, 8})),
                                   cell("c", {}, lasting({1, 2}))});
  CHECK(evaluate(unequal).family.seeds == 2);
  const std::vector<RunFacts> slow = lasting({4, 4.1, 4.3}), fast = lasting({2, 2.2, 2.1});
  const Study again = study(
      {"staleness"}, {cell("a", {"1"}, fast, "a"), cell("a", {"2"}, fast, "a"), cell("a", {"3"}, fast, "a"),
                      cell("b", {"1"}, slow, "b"), cell("b", {"2"}, slow, "b"), cell("b", {"3"}, slow, "b")});
  const Evaluation e = evaluate(again);
  CHECK(e.family.tests == 1);
  CHECK(e.family.seeds_needed == 6);
}

TEST_CASE("untuned rows are no part of the family of tests", "[study]") {
  Study s = study({"tuning"},
                  {cell("a", {"untuned"}, lasting({2, 3, 4})), cell("a", {"tuned"}, lasting({1, 2, 3})),
                   cell("b", {"untuned"}, lasting({5, 7, 9})), cell("b", {"tuned"}, lasting({2, 5, 6}))});
  CHECK(evaluate(s).family.tests == 2);
  s.tuning = {{"best", Json::array()}};
  const Evaluation e = evaluate(s);
  CHECK(e.family.tests == 1);
  CHECK_FALSE(e.aggregates[2].versus->p_value_holm);
  CHECK(e.aggregates[3].versus->p_value_holm == 0.25);
}

TEST_CASE("arms are compared over the seeds that both have", "[study]") {
  Cell fast = cell("fast", {}, lasting({1, 10, 100})), slow = cell("slow", {}, lasting({2, 40}));
  std::ranges::reverse(slow.runs);
  const Study s = study({}, {fast, slow});
  const VersusBaseline versus = *evaluate(s).aggregates[1].versus;
  CHECK(versus.pairs.seeds == 2);
  CHECK(versus.pairs.ratio->value == Approx(std::sqrt(2.0 * 4)));
  CHECK(versus.pairs.better == 0);
  slow.runs[0].seed = 7;
  slow.runs[1].seed = 8;
  const Study apart = study({}, {fast, slow});
  CHECK_FALSE(evaluate(apart).aggregates[1].versus);
}

TEST_CASE("each condition has a budget and a baseline of its own", "[study]") {
  const Study s =
      study({"workers"},
            {cell("a", {"2"}, reaching({2, 2.2, 2.4}, 10)), cell("a", {"4"}, reaching({8, 8.2, 8.4}, 20)),
             cell("b", {"2"}, reaching({4, 4.4, 4.8}, 10)), cell("b", {"4"}, reaching({4, 4.1, 4.2}, 20))});
  const Evaluation e = evaluate(s);
  CHECK(e.aggregates[1].time_to_target->budget_s == 20);
  CHECK(e.aggregates[2].versus->pairs.ratio->value == Approx(2));
  CHECK(e.aggregates[3].versus->pairs.ratio->value == Approx(0.5));
  // Three seeds of one sign: p = 2/8, of which there are two.
  CHECK(e.aggregates[2].versus->pairs.test.p == Approx(0.25));
  CHECK(e.aggregates[2].versus->p_value_holm == 0.5);
  REQUIRE(e.profiles.size() == 2);
  CHECK(e.profiles[0].profile.ratios == std::vector<double>{1, 2});
  CHECK(e.profiles[0].score == Approx((3 + 2) / 3.0 / 2));
}

TEST_CASE("runs that are the baseline's, or were compared already, are no further comparison", "[study]") {
  const std::vector<RunFacts> slow = reaching({4, 4.1, 4.2}, 10), fast = reaching({2, 2.1, 2.2}, 10);
  const Study s = study(
      {"staleness"}, {cell("a", {"1"}, fast, "a"), cell("a", {"2"}, fast, "a"), cell("b", {"1"}, slow, "b"),
                      cell("b", {"2"}, slow, "b"), cell("c", {"1"}, fast, "a"), cell("c", {"2"}, slow, "c")});
  const Evaluation e = evaluate(s);
  CHECK(e.aggregates[2].versus->p_value_holm == 0.5);  // two comparisons: b, and c under staleness 2
  CHECK(e.aggregates[3].versus->p_value_holm == 0.5);
  CHECK_FALSE(e.aggregates[4].versus);
  CHECK(e.aggregates[5].versus->p_value_holm == 0.5);
}

TEST_CASE("an arm that has a target is not compared with one that has none", "[study]") {
  const Study s = study({}, {cell("a", {}, reaching({2, 4})), cell("b", {}, lasting({9, 9}))});
  const Evaluation e = evaluate(s);
  CHECK_FALSE(e.aggregates[1].versus);
  CHECK(e.aggregates[1].time->mean == 9);
}

TEST_CASE("who is worse in time, bytes and accuracy is not on the front", "[study]") {
  const Study s = study({}, {cell("quick", {}, {{.time = 1, .bytes = 9, .accuracy = 0.5}}),
                             cell("frugal", {}, {{.time = 5, .bytes = 1, .accuracy = 0.5}}),
                             cell("worse", {}, {{.time = 5, .bytes = 9, .accuracy = 0.4}}),
                             cell("sharp", {}, {{.time = 9, .bytes = 9, .accuracy = 0.9}})});
  const Evaluation e = evaluate(s);
  CHECK(e.aggregates[0].pareto);
  CHECK(e.aggregates[1].pareto);
  CHECK_FALSE(e.aggregates[2].pareto);
  CHECK(e.aggregates[3].pareto);
}

TEST_CASE("an arm of which a run has no accuracy is on no front by the accuracy of the others", "[study]") {
  const Study s =
      study({}, {cell("sound", {},
                      {{.time = 1, .bytes = 1, .accuracy = 0.5}, {.time = 1.1, .bytes = 1, .accuracy = 0.5}}),
                 cell("diverges", {},
                      {{.time = 2, .bytes = 2, .accuracy = 0.9},
                       {.time = 2.1, .bytes = 2, .loss = {}, .accuracy = {}}})});
  const Evaluation e = evaluate(s);
  CHECK(e.aggregates[0].pareto);
  CHECK_FALSE(e.aggregates[1].pareto);
}

TEST_CASE("measures are taken over the runs that have them", "[study]") {
  const Study s = study({}, {cell("a", {},
                                  {{.updates = 100, .staleness_max = 3, .loss = 0.25},
                                   {.updates = 300, .staleness_max = 2, .loss = {}}})});
  const Aggregate a = evaluate(s).aggregates[0];
  CHECK(a.measure("updates")->mean == 200);
  CHECK(*a.measure("updates")->sd == Approx(std::sqrt(20000.0)));
  CHECK(a.measure("final_loss")->n == 1);
  CHECK_FALSE(a.measure("final_loss")->sd);
  CHECK(a.measure("wait_percent")->mean == 25);
  CHECK(a.staleness_max == 3);
  CHECK(a.measure("answer_latency_s") == nullptr);
}

TEST_CASE("failures are measured where there were any", "[study]") {
  const auto failing = [](double copied, int suspected, const Json& seconds) {
    Json recoveries = Json::array();
    for (const Json& span : seconds) recoveries.push_back({{"total_s", span}});
    return Json{{"replication_bytes", copied},
                {"state_bytes", 1e6},
                {"suspicions", suspected},
                {"false_suspicions", 1},
                {"recoveries", recoveries}};
  };
  Study s = study({}, {cell("a", {}, lasting({1, 1}))});
  s.cells[0].runs[0].summary["failures"] = failing(2e6, 3, {1.0, 2.0});
  s.cells[0].runs[1].summary["failures"] = failing(4e6, 2, Json::array());
  const Aggregate a = evaluate(s).aggregates[0];
  CHECK(a.measure("copied_bytes")->mean == 4e6);
  CHECK(a.measure("recovery_s")->mean == 1.5);  // of the run that had a crash
  CHECK(a.measure("recovery_s")->n == 1);
  // A crash that was not made good has no time.
  s.cells[0].runs[0].summary["failures"] = failing(0, 1, {1.0, nullptr});
  CHECK(evaluate(s).aggregates[0].measure("recovery_s") == nullptr);
}

TEST_CASE("each kind of note stands once, with the number of runs that have it", "[study]") {
  Study s = study({}, {cell("a", {}, lasting({1, 1, 1})), cell("b", {}, lasting({1, 1, 1}), "a")});
  const auto note = [&](std::size_t run, const std::string& name) {
    for (Cell& cell : s.cells)
      cell.runs[run].summary["notes"].push_back({{"name", name}, {"text", name + std::to_string(run + 1)}});
  };
  note(1, "x");
  note(1, "x");
  note(2, "y");
  note(2, "x");
  const Evaluation e = evaluate(s);
  REQUIRE(e.notes.size() == 2);
  CHECK(e.notes[0].text == "x2");
  CHECK(e.notes[0].runs == 2);  // arm b holds the same runs
  CHECK(e.notes[0].seed == 2);
  CHECK(e.notes[1].name == "y");
}

TEST_CASE("runs whose pushes are not acknowledged alike are pointed out", "[study]") {
  Study s = study({}, {cell("bsp", {}, lasting({1})), cell("ssp", {}, lasting({1, 1}))});
  CHECK(evaluate(s).notes.empty());
  for (StudyRun& run : s.cells[1].runs) run.summary["acknowledgement"] = "repeats";
  const std::vector<StudyNote> notes = evaluate(s).notes;
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].name == "acknowledgement");
  CHECK(notes[0].text.find("repeats, in the first run none") != std::string::npos);
  CHECK(notes[0].cell->arm == "ssp");
  CHECK(notes[0].runs == 2);
}

TEST_CASE("a study needs its baseline", "[study]") {
  Study s = study({}, {cell("a", {}, lasting({1}))});
  s.baseline = "b";
  CHECK_THROWS_WITH(evaluate(s), "no arm is called `b`");
}
