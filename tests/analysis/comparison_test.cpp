// Goal: runs are compared as they should be: paired by seed, over those that reached the target. Method: a
// few summaries with round numbers.
#include "analysis/comparison.hpp"

#include <algorithm>
#include <sstream>

#include "tests/support/catch.hpp"

using namespace psim::analysis;

namespace {

struct Facts {
  double time = 1;                       // of the whole run
  std::optional<double> to_target = {};  // when it has a target and reached it
  bool target = false;
  double updates = 100, staleness = 0, staleness_max = 0, bytes = 2e6;
  double wait = 0.25, network = 0.25, absent = 0;
  std::optional<double> loss = 0.5, accuracy = 0.75;
};

ComparedRun run(std::vector<std::string> point, std::int64_t seed, const Facts& f) {
  const auto or_null = [](const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); };
  return {
      std::move(point),
      seed,
      {{"seed", seed},
       {"sim_time_s", f.time},
       {"updates", f.updates},
       {"bytes_sent", f.bytes},
       {"staleness", {{"mean", f.staleness}, {"max", f.staleness_max}}},
       {"time",
        {{"compute_share", 1 - f.wait - f.network - f.absent},
         {"wait_share", f.wait},
         {"network_share", f.network},
         {"absent_share", f.absent}}},
       {"notes", Json::array()},
       {"final", {{"loss", or_null(f.loss)}, {"accuracy", or_null(f.accuracy)}}},
       {"target",
        {{"given", f.target}, {"reached", f.to_target.has_value()}, {"sim_time_s", or_null(f.to_target)}}}}};
}

// The table's cells, without the line of dashes and what follows the table.
std::vector<std::vector<std::string>> cells(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ")) continue;
    std::vector<std::string>& row = rows.emplace_back();
    std::istringstream parts(line.substr(1));
    for (std::string cell; std::getline(parts, cell, '|');) {
      const auto first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
      row.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
  }
  return rows;
}

// In whichever of the tables has the column.
std::string cell(const Comparison& c, const std::string& heading, std::size_t group) {
  const auto rows = cells(table(c));
  const std::size_t lines = c.groups.size() + 1;
  REQUIRE(rows.size() % lines == 0);
  for (std::size_t first = 0; first < rows.size(); first += lines) {
    const auto column = std::ranges::find(rows[first], heading);
    if (column == rows[first].end()) continue;
    return rows[first + group + 1].at(static_cast<std::size_t>(column - rows[first].begin()));
  }
  return "no such column";
}

std::size_t width_of(const std::string& line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

TEST_CASE("a statistic is mean and standard deviation of a sample", "[analysis]") {
  const Statistic four = statistic({2, 4, 4, 6});
  CHECK(four.mean == 4);
  CHECK(*four.sd == Approx(std::sqrt(8.0 / 3)));
  CHECK(four.count == 4);
  CHECK(statistic({7}).mean == 7);
  CHECK(!statistic({7}).sd);
  CHECK(statistic({}).count == 0);
  CHECK(!statistic({}).sd);
  CHECK(*statistic({1e9 + 1, 1e9 + 3}).sd == Approx(std::sqrt(2.0)));
}

TEST_CASE("runs are grouped by their point, in the order of the points", "[analysis]") {
  const Comparison c = compare(
      {"consistency.model"}, {run({"ssp"}, 1, {.time = 2, .staleness_max = 3}), run({"asp"}, 1, {.time = 3}),
                              run({"ssp"}, 2, {.time = 4, .updates = 300, .staleness_max = 2})});
  REQUIRE(c.groups.size() == 2);
  CHECK(c.groups[0].point == std::vector<std::string>{"ssp"});
  CHECK(c.groups[0].runs == 2);
  CHECK(c.groups[0].time->mean == 3);
  CHECK(*c.groups[0].time->sd == Approx(std::sqrt(2.0)));
  CHECK(c.groups[0].measure("updates")->mean == 200);
  CHECK(c.groups[0].staleness_max == 3);
  CHECK(c.groups[0].measure("wait_percent")->mean == 25);
  CHECK(c.groups[1].point == std::vector<std::string>{"asp"});
  CHECK(c.groups[1].runs == 1);
  CHECK(!c.has_target);
}

TEST_CASE("the ratio to the first row is taken seed by seed, then averaged", "[analysis]") {
  const Comparison c = compare({"m"}, {run({"fast"}, 1, {.time = 1}), run({"fast"}, 2, {.time = 10}),
                                       run({"slow"}, 1, {.time = 2}), run({"slow"}, 2, {.time = 40})});
  CHECK(c.groups[1].relative->mean == 3);  // (2/1 + 40/10) / 2, not 42/11
  CHECK(*c.groups[1].relative->sd == Approx(std::sqrt(2.0)));
  CHECK(c.groups[0].relative->mean == 1);
  CHECK(*c.groups[0].relative->sd == 0);
}

TEST_CASE("a mean is never over the seeds that reached the target alone", "[analysis]") {
  const auto reached = [](double at) { return Facts{.time = 99, .to_target = at, .target = true}; };
  const Facts missed{.time = 99, .target = true};
  const Comparison c =
      compare({"m"}, {run({"a"}, 1, reached(2)), run({"a"}, 2, reached(4)), run({"b"}, 1, reached(1)),
                      run({"b"}, 2, missed), run({"c"}, 1, missed), run({"c"}, 2, missed)});
  CHECK(c.has_target);
  CHECK(c.groups[0].time->mean == 3);
  CHECK(c.groups[0].time_at_least.mean == 3);
  CHECK(c.groups[1].reached == 1);
  CHECK(!c.groups[1].time);
  CHECK(c.groups[1].time_at_least.mean == 50);  // 1 and 99
  CHECK(!c.groups[1].relative);
  CHECK(!c.groups[2].time);
  CHECK(c.groups[2].time_at_least.mean == 99);
  const Comparison other = compare({"m"}, {run({"b"}, 1, reached(1)), run({"b"}, 2, missed),
                                           run({"a"}, 1, reached(2)), run({"a"}, 2, reached(4))});
  CHECK(!other.groups[1].relative);  // its seed 2 has nothing to be compared with
}

TEST_CASE("each kind of note stands once, with the number of runs that have it", "[analysis]") {
  const auto noted = [](std::int64_t seed, const std::vector<std::string>& names) {
    ComparedRun one = run({"a"}, seed, {});
    for (const std::string& name : names)
      one.summary["notes"].push_back({{"name", name}, {"text", name + std::to_string(seed)}});
    return one;
  };
  const Comparison c = compare({"m"}, {noted(1, {}), noted(2, {"x", "x"}), noted(3, {"y", "x"})});
  REQUIRE(c.notes.size() == 2);
  CHECK(c.notes[0].text == "x2");
  CHECK(c.notes[0].runs == 2);
  CHECK(c.notes[0].seed == 2);
  CHECK(c.notes[1].name == "y");
  CHECK(document(c)["notes"][0] == Json{{"name", "x"}, {"text", "x2"}, {"runs", 2}});
}

TEST_CASE("a phantom run has neither loss nor accuracy", "[analysis]") {
  const Comparison c = compare({}, {run({}, 1, {.loss = {}, .accuracy = {}})});
  CHECK(!c.groups[0].measure("final_loss"));
  CHECK(!c.groups[0].measure("final_accuracy"));
  CHECK(cell(c, "final loss", 0) == "no such column");
  CHECK(cell(c, "accuracy [%]", 0) == "no such column");
  CHECK(cell(c, "scenario", 0) == "as it is");
}

TEST_CASE("the table shows each group's numbers under their headings", "[analysis]") {
  const Comparison c = compare({"consistency.model", "cluster.workers"},
                               {run({"bsp", "8"}, 1, {.time = 2}), run({"bsp", "8"}, 2, {.time = 4}),
                                run({"asp", "16"}, 1, {.time = 1, .loss = {}}),
                                run({"asp", "16"}, 2, {.time = 1, .wait = 0.75, .loss = {}})});
  CHECK(cell(c, "model", 0) == "bsp");
  CHECK(cell(c, "workers", 1) == "16");
  CHECK(cell(c, "time [s]", 0) == "3.00 ± 1.41");
  CHECK(cell(c, "time [s]", 1) == "1.00 ± 0.00");
  CHECK(cell(c, "relative", 0) == "1.00 ± 0.00");
  CHECK(cell(c, "relative", 1) == "0.38 ± 0.18");
  CHECK(cell(c, "compute [%]", 0) == "50.0 ± 0.0");
  CHECK(cell(c, "network [%]", 1) == "25.0 ± 0.0");
  CHECK(cell(c, "wait [%]", 0) == "25.0 ± 0.0");
  CHECK(cell(c, "wait [%]", 1) == "50.0 ± 35.4");
  CHECK(cell(c, "sent [MB]", 1) == "2");
  CHECK(cell(c, "final loss", 0) == "0.5000 ± 0.0000");
  CHECK(cell(c, "final loss", 1) == "-");
  CHECK(cell(c, "accuracy [%]", 1) == "75.00 ± 0.00");
  CHECK(cell(c, "reached", 0) == "no such column");
}

TEST_CASE("the table says who did not reach the target", "[analysis]") {
  const Facts reached{.to_target = 0.5, .target = true}, missed{.time = 2, .target = true};
  const Comparison c =
      compare({"m"}, {run({"a"}, 1, reached), run({"a"}, 2, missed), run({"b"}, 1, missed),
                      run({"b"}, 2, missed), run({"c"}, 1, reached), run({"c"}, 2, reached)});
  CHECK(cell(c, "time to target [s]", 0) == "> 1.25");
  CHECK(cell(c, "time to target [s]", 1) == "> 2.00");
  CHECK(cell(c, "time to target [s]", 2) == "0.50 ± 0.00");
  CHECK(cell(c, "relative", 1) == "-");
  CHECK(cell(c, "reached", 0) == "1/2");
  CHECK(cell(c, "reached", 1) == "0/2");
  const std::string text = table(c);
  CHECK(text.find("a: 1 of 2 reached the target; `>` counts the whole run for the others") !=
        std::string::npos);
  CHECK(text.find("b: 0 of 2 reached the target; `>` counts the whole run for all") != std::string::npos);
  CHECK(text.find("c: ") == std::string::npos);
}

TEST_CASE("columns that are 0 in every row are left out and named", "[analysis]") {
  const Comparison c = compare({"m"}, {run({"a"}, 1, {.wait = 0}), run({"b"}, 1, {.wait = 0})});
  CHECK(cell(c, "wait [%]", 0) == "no such column");
  CHECK(cell(c, "staleness (max)", 0) == "no such column");
  CHECK(cell(c, "network [%]", 0) == "25.0");
  CHECK(table(c).find("0 in every row: staleness, wait\n") != std::string::npos);
  const Comparison one = compare({"m"}, {run({"a"}, 1, {.wait = 0}), run({"b"}, 1, {.wait = 0.5})});
  CHECK(cell(one, "wait [%]", 0) == "0.0");
}

TEST_CASE("a table that would be too wide is broken, and each part has the labels", "[analysis]") {
  const std::string name(40, 'x');
  const Comparison c = compare({"m"}, {run({name}, 1, {.to_target = 0.5, .target = true, .staleness_max = 2}),
                                       run({name}, 2, {.to_target = 0.6, .target = true})});
  const auto rows = cells(table(c));
  REQUIRE(rows.size() >= 4);
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    CHECK(rows[i].front() == "m");
    CHECK(rows[i + 1].front() == name);
    CHECK(rows[i].size() > 1);
  }
  std::istringstream lines(table(c));
  for (std::string line; std::getline(lines, line);) CHECK(width_of(line) <= 120);
}

TEST_CASE("the table's lines are equally wide, whatever letters are in them", "[analysis]") {
  const std::string text = table(compare(
      {"a"}, {run({"±ü€"}, 1, {.time = 1e6}), run({"±ü€"}, 2, {.time = 3}), run({"a long name"}, 1, {})}));
  std::istringstream lines(text);
  std::vector<std::size_t> widths;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('|')) widths.push_back(width_of(line));
  }
  REQUIRE(widths.size() == 8);  // two parts
  for (std::size_t i = 0; i < widths.size(); ++i) CHECK(widths[i] == widths[i / 4 * 4]);
}

TEST_CASE("the document holds every run and every group", "[analysis]") {
  const Json json =
      document(compare({"m.k"}, {run({"a"}, 1, {.time = 2}), run({"b"}, 1, {.time = 1, .loss = {}})}));
  CHECK(json["schema"] == "psim.compare/1");
  CHECK(json["axes"] == Json{"m.k"});
  REQUIRE(json["runs"].size() == 2);
  CHECK(json["runs"][0]["point"]["m.k"] == "a");
  CHECK(json["runs"][0]["sim_time_s"] == 2.0);
  REQUIRE(json["aggregates"].size() == 2);
  CHECK(json["aggregates"][0]["time_s"] == Json{{"mean", 2.0}, {"sd", nullptr}, {"n", 1}});
  CHECK(json["aggregates"][1]["relative"]["mean"] == 0.5);
  CHECK(json["aggregates"][1]["final_loss"] == nullptr);
}

TEST_CASE("answers of an inference group have columns of their own, where there is one", "[compare]") {
  const auto serving = [](const std::string& point, std::int64_t seed, double latency, const Json& accuracy) {
    ComparedRun r = run({point}, seed, {});
    r.summary["inference"] = {
        {"latency_s", {{"mean", latency}}}, {"staleness", {{"mean", 4.0}}}, {"accuracy", accuracy}};
    return r;
  };
  const Comparison c = compare(
      {"inference.refresh"},
      {serving("1s", 1, 0.001, 0.5), serving("1s", 2, 0.003, 0.75), serving("2s", 1, 0.004, nullptr)});
  CHECK(cell(c, "answer [ms]", 0) == "2.00 ± 1.41");
  CHECK(cell(c, "served staleness", 1) == "4.00");
  CHECK(cell(c, "served accuracy [%]", 0) == "62.50 ± 17.68");
  CHECK(cell(c, "served accuracy [%]", 1) == "-");
  const Json group = document(c)["aggregates"][0];
  CHECK(group["answer_latency_s"]["mean"] == 0.002);
  CHECK(group["served_accuracy"]["n"] == 2);
  const Comparison none = compare({"a"}, {run({"1"}, 1, {})});
  CHECK(cell(none, "answer [ms]", 0) == "no such column");
  CHECK(!document(none)["aggregates"][0].contains("served_accuracy"));
}

TEST_CASE("failures have columns where there were any", "[analysis]") {
  const auto failing = [](std::int64_t seed, double copied, int suspected, const Json& seconds) {
    ComparedRun one = run({"x"}, seed, {});
    Json recoveries = Json::array();
    for (const Json& span : seconds) recoveries.push_back({{"total_s", span}});
    one.summary["failures"] = {{"replication_bytes", copied},
                               {"state_bytes", 1e6},
                               {"suspicions", suspected},
                               {"false_suspicions", 1},
                               {"recoveries", recoveries}};
    return one;
  };
  const Comparison c = compare({"a"}, {failing(1, 2e6, 3, {1.0, 2.0}), failing(2, 4e6, 2, Json::array())});
  CHECK(cell(c, "copied [MB]", 0) == "4");
  CHECK(cell(c, "suspected (falsely)", 0) == "2.5 (1.0)");
  CHECK(cell(c, "recovery [s]", 0) == "1.50");  // of the run that had a crash
  CHECK(document(c)["aggregates"][0]["recovery_s"]["n"] == 1);
  CHECK(document(c)["aggregates"][0]["copied_bytes"]["mean"] == 4e6);
  // A crash that was not made good has no time.
  const Comparison open = compare({"a"}, {failing(1, 0, 1, {1.0, nullptr})});
  CHECK(cell(open, "recovery [s]", 0) == "no such column");
  CHECK(cell(compare({"a"}, {run({"x"}, 1, {})}), "copied [MB]", 0) == "no such column");
  CHECK_FALSE(document(compare({"a"}, {run({"x"}, 1, {})}))["aggregates"][0].contains("suspicions"));
}

TEST_CASE("absence is a column where any run has it", "[compare]") {
  const auto table_with = [](double absent) {
    return compare({"axis"}, {run({"a"}, 1, {}), run({"b"}, 1, {.absent = absent})});
  };
  CHECK(cell(table_with(0), "absent [%]", 0) == "no such column");
  CHECK(cell(table_with(0.125), "absent [%]", 0) == "0.0");
  CHECK(cell(table_with(0.125), "absent [%]", 1) == "12.5");
}

TEST_CASE("runs whose pushes are not acknowledged alike are pointed out", "[analysis]") {
  std::vector<ComparedRun> runs{run({"bsp"}, 1, {}), run({"ssp"}, 1, {}), run({"ssp"}, 2, {})};
  for (ComparedRun& one : runs) one.summary["acknowledgement"] = "none";
  CHECK(compare({"consistency"}, runs).notes.empty());
  for (ComparedRun& one : runs) one.summary["acknowledgement"] = one.point[0] == "ssp" ? "repeats" : "none";
  const std::vector<ComparedNote> notes = compare({"consistency"}, runs).notes;
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].name == "acknowledgement");
  CHECK(notes[0].text.find("repeats, in the first run none") != std::string::npos);
  CHECK(notes[0].point == std::vector<std::string>{"ssp"});
  CHECK(notes[0].runs == 2);
}
