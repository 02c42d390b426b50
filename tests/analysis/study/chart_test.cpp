// Goal: a chart of a study shows every arm, or says which it does not. Method: studies of a few points.
#include <algorithm>
#include <sstream>

#include "analysis/study/curves.hpp"
#include "analysis/study/report.hpp"
#include "tests/analysis/study/make_study.hpp"
#include "tests/support/catch.hpp"

using namespace psim::analysis;
using namespace psim::test;

namespace {

RunFacts curve(std::vector<std::pair<double, std::optional<double>>> points) {
  return {.curve = std::move(points)};
}

const ChartSize small{.width = 20, .height = 8};

}  // namespace

TEST_CASE("the curve of an arm is the mean over its seeds, with a band", "[study]") {
  const Study s = study(
      {}, {cell("a", {}, {curve({{0, 4.0}, {2, 2.0}, {4, 1.0}}), curve({{0, 4.0}, {2, 1.0}, {6, 1.0}})})});
  const std::vector<ConditionCurves> curves = mean_curves(s, 3);
  REQUIRE(curves.size() == 1);
  const auto& band = curves[0].curves[0].band;
  REQUIRE(band.size() == 3);
  CHECK(band.back().time_s == 6);  // the end of the last run; the other one keeps its value
  CHECK(band.back().mean == 1);
  CHECK(band[1].mean == 1.5);
  CHECK(band[0].interval->low == 4);
  CHECK(band[1].interval->low < 1.5);
  const std::string text = loss_chart(s, small);
  CHECK(text.find("a = a\n") != std::string::npos);
  CHECK(text.find("dots: the 95 % interval") != std::string::npos);
  const std::string area = text.substr(0, text.find('+'));
  CHECK(std::ranges::count(area, '.') > 2 + 4);  // more than those of the axis' labels
}

TEST_CASE("the mean after a run's end is no mean over the slow runs alone", "[study]") {
  const Study s = study({}, {cell("a", {}, {curve({{0, 4.0}, {2, 0.5}}), curve({{0, 4.0}, {8, 3.5}})})});
  const auto band = mean_curves(s, 5)[0].curves[0].band;
  CHECK(band[2].time_s == 4);
  CHECK(band[2].mean == 2.25);  // of 0.5, which is held, and 4
  CHECK(band.back().mean == 2);
  const auto along = mean_curve(s.cells[0], 3, {.along = "updates"}).band;
  CHECK((along.empty() || along.back().time_s <= 2));  // updates do not go on without a run
}

TEST_CASE("a curve that diverges ends with a mark", "[study]") {
  const Study s = study(
      {}, {cell("good", {}, {curve({{0, 4.0}, {4, 1.0}}), curve({{0, 4.0}, {4, 1.0}})}),
           cell("bad", {}, {curve({{0, 4.0}, {1, 5.0}, {2, 8.0}, {3, {}}}), curve({{0, 4.0}, {4, 3.0}})}),
           cell("none", {}, {curve({{0, {}}}), curve({{0, 4.0}, {4, 3.0}})})});
  const std::string text = loss_chart(s, small);
  INFO(text);
  CHECK(std::ranges::count(text.substr(0, text.find('+')), '!') == 1);
  CHECK(text.find("b = bad   (! 1 of 2 runs diverged)") != std::string::npos);
  CHECK(text.find("a = good\n") != std::string::npos);
  CHECK(text.find("!: here the loss of a run stopped being a number.") != std::string::npos);
  CHECK(text.find("No curve, because the runs have no losses or no common times: none\n") !=
        std::string::npos);
}

TEST_CASE("each condition has a chart, and equal runs one curve", "[study]") {
  const RunFacts one = curve({{0, 4.0}, {4, 1.0}});
  const Study s = study({"cluster.workers"}, {cell("a", {"2"}, {one}), cell("a", {"4"}, {one}),
                                              cell("b", {"2"}, {one}, "a/2"), cell("b", {"4"}, {one})});
  const std::string text = loss_chart(s, small);
  CHECK(text.find("workers = 2\n") != std::string::npos);
  CHECK(text.find("a = a or b\n") != std::string::npos);
  CHECK(text.find("workers = 4\n") != std::string::npos);
  CHECK(text.find("b = b\n") != std::string::npos);
  CHECK(text.find("dots") == std::string::npos);
}

TEST_CASE("what is not drawn is named", "[study]") {
  const RunFacts one = curve({{0, 4.0}, {4, 1.0}});
  std::vector<Cell> arms, conditions;
  for (int i = 0; i < 14; ++i) arms.push_back(cell("arm" + std::to_string(i), {}, {one}));
  CHECK(loss_chart(study({}, arms), small).find("The first 12 arms; curves.csv has also: arm12, arm13\n") !=
        std::string::npos);
  for (int i = 0; i < 5; ++i) conditions.push_back(cell("a", {std::to_string(i)}, {one}));
  CHECK(loss_chart(study({"k"}, conditions), small)
            .find("The first 3 of 5 conditions; curves.csv and curves.tex have all.") != std::string::npos);
  CHECK(loss_chart(study({}, {cell("a", {}, lasting({1}))}), small).empty());
}
