// Goal: a table says what its numbers allow to say, and fits. Method: studies made by hand; cells that can be
// read off.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "analysis/render/text_table.hpp"
#include "analysis/study/figures.hpp"
#include "analysis/study/report.hpp"
#include "analysis/study/table_columns.hpp"
#include "tests/analysis/study/make_study.hpp"
#include "tests/support/catch.hpp"

using namespace psim::analysis;
using namespace psim::test;
using psim::statistics::PairedComparison;

namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result.push_back(line);
  return result;
}

std::string text_of(const Study& s, const TableOptions& options = {}) {
  return table(s, evaluate(s), options);
}

// The cells of one column, as Markdown shows them.
std::vector<std::string> column(const Study& s, const std::string& name) {
  std::vector<std::string> cells;
  const std::vector<std::string> rows =
      lines(text_of(s, {.format = TableFormat::markdown, .columns = {name}, .width = 1000}));
  for (std::size_t i = 2; i < rows.size() && !rows[i].empty(); ++i) {
    const std::string row = rows[i].substr(0, rows[i].rfind(" |"));
    cells.push_back(row.substr(row.rfind("| ") + 2));
  }
  return cells;
}
using Cells = std::vector<std::string>;

// A cell of a comparison with this ratio.
std::string versus(double ratio, double low, double high, std::size_t seeds, double better,
                   bool trustworthy = true, double p_holm = 0.01, bool brief = false) {
  const Study s = study({}, {cell("a", {}, lasting({1})), cell("b", {}, lasting({1}))});
  Evaluation e = evaluate(s);
  PairedComparison pairs{.seeds = seeds, .better = better, .trustworthy = trustworthy};
  pairs.ratio = {.value = ratio, .interval = {.low = low, .high = high}};
  e.aggregates[1].versus = {.pairs = pairs, .budget_s = 1, .p_value_holm = p_holm};
  const TableView view{.study = s, .evaluation = e, .brief = brief};
  const auto found = std::ranges::find(table_columns(), "versus baseline",
                                       [](const TableColumn& c) { return c.name.name(); });
  return cell_text(*found, view, e.aggregates[1]);
}

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  for (const std::string& line : lines(text)) width = std::max(width, width_of(line));
  return width;
}

}  // namespace

TEST_CASE("a comparison is put in words", "[study]") {
  CHECK(versus(1 / 2.9, 1 / 3.2, 1 / 2.6, 10, 1) == "2.9x faster [2.6, 3.2], 10/10");
  CHECK(versus(1.4, 1.2, 1.7, 10, 0) == "1.40x slower [1.20, 1.70], 0/10");
  CHECK(versus(1.4, 1.2, 1.7, 5, 0.1, false) == "1.40x slower [1.20, 1.70], 0.5/5 ~");
  CHECK(versus(1.4, 0.9, 1.7, 5, 0.2, false, 1, true) == "no difference seen with 5 seeds");
  CHECK(versus(1.4, 0.9, 1.7, 5, 0.2, false) == "no difference seen: 1.40x slower [0.90, 1.70], 1/5");
  CHECK(versus(0.8, 0.5, 1.25, 5, 0.6, false) == "no difference seen: 1.25x faster [0.80, 2.00], 3/5");
  CHECK(versus(1.4, 1.2, 1.7, 10, 0, true, 0.08) == "1.40x slower [1.20, 1.70], 0/10 ?");
  CHECK(versus(1.4, 1.2, 1.7, 5, 0, false, 0.08) == "1.40x slower [1.20, 1.70], 0/5 ~");
  // A bound that is no 1 does not look like one.
  CHECK(versus(1.03, 1.004, 1.06, 9, 0) == "1.030x slower [1.004, 1.060], 0/9");
  CHECK(versus(250, 200, 300, 9, 0) == "250x slower [200, 300], 0/9");
  // Bounds are rounded away from the ratio, so that no interval looks narrower than it is.
  CHECK(versus(1.353, 1.167, 1.569, 9, 0) == "1.35x slower [1.16, 1.57], 0/9");
  CHECK(versus(1 / 2.68, 1 / 3.12, 1 / 2.37, 9, 1) == "2.7x faster [2.3, 3.2], 9/9");
  CHECK(versus(0.5, 0, 0.8, 9, 1) == "2.0x faster [1.2, inf], 9/9");
  CHECK(versus(0.5, -HUGE_VAL, HUGE_VAL, 1, 1) == "2.0x faster, 1 seed");
  // Five seeds have no p value that is small enough; that says nothing against them.
  CHECK(versus(0.35, 0.3, 0.4, 5, 1, true, 0.19) == "2.9x faster [2.5, 3.4], 5/5");
  CHECK(versus(0.5, 0.4, 0.6, 3, 1, false) == "2.0x faster [1.6, 2.5], 3/3 ~");
  CHECK(versus(1, -HUGE_VAL, HUGE_VAL, 1, 0.5) == "same time, 1 seed");
}

TEST_CASE("a ratio of times that are cut says on which side the truth lies", "[study]") {
  const auto cells = [](std::vector<RunFacts> baseline, std::vector<RunFacts> arm) {
    const Study s = study({}, {cell("a", {}, std::move(baseline)), cell("b", {}, std::move(arm))});
    return column(s, "versus-baseline")[1];
  };
  const std::vector<RunFacts> fast = reaching({1, 1.1, 1.2, 1.3, 1.4}, 10);
  std::vector<RunFacts> cut = reaching({5, 6, 7, 8, 9}, 10);
  cut[2] = missed(10);
  CHECK(cells(fast, cut).starts_with(">= "));  // at least so much slower
  CHECK(cells(cut, fast).starts_with(">= "));  // at least so much faster
  std::vector<RunFacts> also = reaching({1, 1.1, 1.2, 1.3, 1.4}, 10);
  also[0] = missed(10);
  // One miss among ten hides no difference, and says that the arm may be less fast.
  std::vector<RunFacts> often = reaching({1, 1.1, 1.2, 1.3, 1.4, 1, 1.1, 1.2, 1.3, 1.4}, 10);
  often[0] = missed(10);
  CHECK(cells(reaching({9, 9.1, 9, 9.1, 9, 9.1, 9, 9.1, 9, 9.1}, 10), often)
            .starts_with("&lt;= 6.0x faster"));  // as Markdown writes "<="
  CHECK(cells(cut, also).find("x faster") != std::string::npos);
  CHECK(cells(cut, also).find(" up to 10 s") != std::string::npos);
  CHECK(cells(fast, {missed(2), missed(2), missed(2), missed(2), missed(2)}) ==
        "reached by 0/5, baseline 5/5");
  CHECK(cells({missed(2), missed(2)}, {missed(1), missed(1)}) == "both missed the target");
}

TEST_CASE("the baseline says so, and so do runs that are the baseline's", "[study]") {
  const Study s =
      study({"k"}, {cell("a", {"1"}, lasting({2, 3}), "x"), cell("a", {"2"}, lasting({2, 5}), "y"),
                    cell("b", {"1"}, lasting({2, 3}), "x"), cell("b", {"2"}, lasting({4, 7}), "z")});
  CHECK(column(s, "versus-baseline")[0] == "baseline");
  const std::vector<std::string> rows = lines(text_of(s, {.format = TableFormat::markdown}));
  CHECK(rows[2].starts_with("| a or b | 1 | "));
  CHECK(rows[3].starts_with("| a | 2 | "));
  CHECK(rows[4].starts_with("| b | 2 | "));
}

TEST_CASE("rows that are the same runs are shown once, with all their labels", "[study]") {
  const Study s =
      study({"staleness", "k"},
            {cell("bsp", {"1", "5"}, lasting({2}), "bsp"), cell("bsp", {"4", "5"}, lasting({2}), "bsp"),
             cell("ssp", {"1", "5"}, lasting({1})), cell("ssp", {"4", "5"}, lasting({3}))});
  const std::vector<std::string> rows = lines(text_of(s, {.format = TableFormat::markdown}));
  CHECK(rows[2].starts_with("| bsp | 1 or 4 | 5 |"));
  CHECK(rows[3].starts_with("| ssp | 1 | 5 |"));
  CHECK(rows[4].starts_with("| ssp | 4 | 5 |"));
}

TEST_CASE("a time is a mean only where every run reached the target", "[study]") {
  const Study s = study(
      {}, {cell("a", {}, reaching({2, 4, 6}, 10)), cell("b", {}, {reached(1, 10), missed(10), missed(10)}),
           cell("c", {}, {missed(10), missed(10), missed(10)})});
  CHECK(column(s, "time-to-target") == Cells{"4.0 \\[0.0, 9.0\\]", ">= 7.0", ">= 10.0"});
  CHECK(column(s, "reached") == Cells{"3/3", "1/3", "0/3"});
  CHECK(column(s, "median") == Cells{"4.0", "> 10.0", "> 10.0"});
  CHECK_THAT(remarks(s, evaluate(s)), Catch::Contains("missed the target within the budget of 10 s"));
}

TEST_CASE("what only some runs have says so", "[study]") {
  const Study s = study({}, {cell("a", {}, {{.loss = 0.25}, {.loss = {}}, {.loss = 0.75}}),
                             cell("b", {}, {{.loss = {}}, {.loss = {}}, {.loss = {}}})});
  CHECK(column(s, "final-loss") == Cells{"0.5000 ± 0.3536 (2/3)", "-"});
  CHECK_THAT(remarks(s, evaluate(s)), Catch::Contains("only k of n runs have the value"));
}

TEST_CASE("a loss that has diverged is written short", "[study]") {
  const Study s =
      study({}, {cell("a", {}, {{.loss = 1e25}, {.loss = 3e25}}), cell("b", {}, {{.loss = 1e8}})});
  CHECK(column(s, "final-loss") == Cells{"2e+25 ± 1.41e+25", "100000000.0000"});
}

TEST_CASE("a table fits into 100 columns, whatever its labels", "[study]") {
  for (const std::size_t length : {1, 10, 30, 80, 200}) {
    std::string name(length, 'x'), words;
    while (words.size() < length) words += "größe=½ ";
    const Study s = study({"cluster.network.bandwidth", "training.batch"},
                          {cell(name, {words, "32"}, reaching({0.012345, 0.022345, 0.032}, 1)),
                           cell(words, {words, "32"}, {reached(0.5, 1), missed(1), reached(0.4, 1)}),
                           cell(name, {"10Gbps", "1"}, reaching({0.512345, 0.52, 0.53}, 1)),
                           cell(words, {"10Gbps", "1"}, reaching({0.0012345, 0.0052, 0.0053}, 1))});
    for (const bool wide : {false, true}) {
      const std::string text = text_of(s, {.wide = wide});
      INFO(text);
      CHECK(widest(text) <= 100);
      CHECK(text.find("baseline") != std::string::npos);
    }
    CHECK(widest(remarks(s, evaluate(s))) <= 100);
    CHECK(widest(text_of(s, {.width = 60})) <= 60);
  }
}

TEST_CASE("columns stand below each other, whatever letters are in them", "[study]") {
  CHECK(width_of("同期") == 4);
  CHECK(width_of("ｂｓｐ") == 6);
  CHECK(width_of("한글") == 4);
  CHECK(width_of("± é ß") == 5);
  CHECK(width_of("e\u0301") == 1);
  CHECK(width_of("\xff") == 1);  // no UTF-8
  const Study s = study({}, {cell("同期", {}, lasting({1})), cell("asp", {}, lasting({2}))});
  const std::vector<std::string> rows = lines(text_of(s, {.columns = {"time"}}));
  REQUIRE(rows.size() == 4);
  for (const std::string& row : rows) CHECK(width_of(row) == width_of(rows[0]));
  for (const std::string& line : wrapped("同期同期同期", 5)) CHECK(width_of(line) <= 5);
}

TEST_CASE("nothing of a label is lost where it is broken", "[study]") {
  CHECK(wrapped("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped("äöüßÄÖÜ x", 3) == std::vector<std::string>{"äöü", "ßÄÖ", "Ü x"});
  CHECK(wrapped("", 3) == std::vector<std::string>{""});
}

TEST_CASE("sizes have units that people read", "[study]") {
  const Study s = study({}, {cell("a", {}, {{.bytes = 280}}), cell("b", {}, {{.bytes = 5.12e10}}),
                             cell("c", {}, {{.bytes = 999'700}})});
  CHECK(column(s, "sent") == Cells{"280 B", "51.2 GB", "1 MB"});
}

TEST_CASE("an interval has brackets, and ± is a standard deviation", "[study]") {
  const Study s = study({}, {cell("a", {}, lasting({1, 2, 3})), cell("b", {}, lasting({2, 4, 7}))});
  CHECK(text_of(s).find("±") == std::string::npos);
  CHECK(remarks(s, evaluate(s)).find("±") == std::string::npos);
  for (const TableFormat format : {TableFormat::markdown, TableFormat::latex}) {
    CHECK_THAT(text_of(s, {.format = format}), Catch::Contains("95"));
    CHECK_THAT(text_of(s, {.format = format, .wide = true}),
               Catch::Contains("standard deviation over seeds"));
  }
  CHECK_THAT(remarks(s, evaluate(s), {.wide = true, .width = 1000}),
             Catch::Contains("±: standard deviation over seeds"));
}

TEST_CASE("a column of times has the times of the study, and one without values says so", "[study]") {
  const Study with =
      study({}, {cell("a", {}, reaching({2, 4, 6}, 10)), cell("b", {}, reaching({1, 2, 3}, 10))});
  CHECK(column(with, "time") == column(with, "time-to-target"));
  CHECK(column(with, "time")[1].starts_with("2.0"));
  const Study without = study({}, {cell("a", {}, lasting({2})), cell("b", {}, lasting({3}))});
  CHECK(column(without, "time-to-target") == Cells{"2.00", "3.00"});
  CHECK_THAT(text_of(without, {.columns = {"energy", "time"}}),
             Catch::Contains("no run has a value: energy"));
}

TEST_CASE("what does not fit is named", "[study]") {
  const Study s = study({}, {cell("a", {}, {{.staleness = 1}}), cell("b", {}, {{.staleness = 2}})});
  const std::string text = text_of(s, {.width = 70});
  CHECK_THAT(text, Catch::Contains("not shown, no room in 70 columns (--wide shows all): "));
  CHECK_THAT(text, Catch::Contains("staleness"));
  CHECK(text_of(s, {.wide = true}).find("not shown") == std::string::npos);
}

TEST_CASE("columns that are 0 in every row are left out and named", "[study]") {
  const Study s = study({}, {cell("a", {}, {{.wait = 0}}), cell("b", {}, {{.wait = 0}})});
  const std::string text = text_of(s, {.wide = true});
  CHECK_THAT(text, Catch::Contains("0 in every row: staleness, wait\n"));
  CHECK(text.find("absent") == std::string::npos);
  const Study some = study({}, {cell("a", {}, {{.wait = 0}}), cell("b", {}, {{.wait = 0.5}})});
  CHECK(text_of(some, {.wide = true}).find("0 in every row: staleness\n") != std::string::npos);
  CHECK(column(some, "wait") == Cells{"0.0", "50.0"});
  CHECK(column(some, "compute wait network") == Cells{"75/0/25", "25/50/25"});
}

TEST_CASE("columns are picked by name", "[study]") {
  const Study s = study({}, {cell("a", {}, lasting({1})), cell("b", {}, lasting({2}))});
  const std::string text = text_of(s, {.columns = {"updates", "sent"}});
  CHECK(lines(text)[0] == "model  updates  sent");
  CHECK(lines(text)[2] == "a          100  2 MB");
  CHECK(lines(text).size() == 4);
  CHECK_THROWS_AS(text_of(s, {.columns = {"updats"}}), std::invalid_argument);
  CHECK_THROWS_WITH(text_of(s, {.columns = {"updats"}}),
                    Catch::Contains("no column is called `updats`: did you mean `updates`?") &&
                        Catch::Contains("time-to-target") && Catch::Contains("accuracy"));
}

TEST_CASE("the rows of a condition stand together, in the order of their arms", "[study]") {
  const Study s = study({"k"}, {cell("a", {"1"}, lasting({1})), cell("a", {"2"}, lasting({2})),
                                cell("b", {"1"}, lasting({3})), cell("b", {"2"}, lasting({4}))});
  const std::vector<std::string> rows = lines(text_of(s, {.columns = {"time"}}));
  REQUIRE(rows.size() >= 7);
  CHECK(rows[2].starts_with("a      1"));
  CHECK(rows[3].starts_with("b      1"));
  CHECK(rows[4].empty());
  CHECK(rows[5].starts_with("a      2"));
  CHECK(rows[6].starts_with("b      2"));
}

TEST_CASE("Markdown and LaTeX get text, not commands", "[study]") {
  const Study s =
      study({}, {cell("a_1 | 50% {x} \\y", {}, lasting({1})), cell("<b> & $c$ #1 ~ ^ *", {}, lasting({1}))});
  const std::string markdown = text_of(s, {.format = TableFormat::markdown, .columns = {"time"}});
  CHECK(lines(markdown)[2] == "| a\\_1 \\| 50% {x} \\\\y | 1.00 |");
  CHECK(lines(markdown)[3] == "| &lt;b> &amp; \\$c\\$ #1 \\~ ^ \\* | 1.00 |");
  const std::string tex = text_of(s, {.format = TableFormat::latex, .columns = {"time"}});
  CHECK_THAT(tex, Catch::Contains("  a\\_1 \\textbar{} 50\\% \\{x\\} \\textbackslash{}y & 1.00 \\\\\n"));
  CHECK_THAT(
      tex,
      Catch::Contains(
          "  \\textless{}b\\textgreater{} \\& \\$c\\$ \\#1 \\textasciitilde{} \\textasciicircum{} * & 1.00"));
  CHECK_THAT(tex, Catch::Contains("\\begin{tabular}{lr}\n  \\toprule\n"));
  CHECK(latex(">= 1 ± 2") == "$\\ge$ 1 $\\pm$ 2");
}

TEST_CASE("two conditions give the arms a score", "[study]") {
  const Study s = study({"k"}, {cell("a", {"1"}, lasting({1})), cell("a", {"2"}, lasting({3})),
                                cell("b", {"1"}, lasting({2})), cell("b", {"2"}, lasting({1}))});
  const std::vector<std::string> rows = lines(text_of(s));
  const auto score =
      std::ranges::find_if(rows, [](const std::string& r) { return r.find("score") != std::string::npos; });
  REQUIRE(score != rows.end());
  CHECK(score[2].starts_with("a"));
  CHECK_THAT(score[2], Catch::Contains("0.67") && Catch::Contains("1/2") && Catch::Contains("2/2"));
  CHECK_THAT(score[3], Catch::Contains("0.83"));
  const Study one = study({}, {cell("a", {}, lasting({1})), cell("b", {}, lasting({2}))});
  CHECK(text_of(one).find("score") == std::string::npos);
}

TEST_CASE("a phantom run has neither loss nor accuracy", "[study]") {
  const Study s = study({}, {cell("", {}, {{.loss = {}, .accuracy = {}}})});
  const std::string text = text_of(s);
  CHECK(text.find("loss") == std::string::npos);
  CHECK(text.find("accuracy") == std::string::npos);
  CHECK_THAT(text, Catch::Contains("as it is"));
}

TEST_CASE("an interval that is wider than asked for says so", "[study]") {
  Study s = study({}, {cell("a", {}, lasting({1, 1.1, 1.2, 1})), cell("b", {}, lasting({2, 2.1, 2.6, 1.9}))});
  CHECK(width_line(s, evaluate(s)).empty());
  for (const double asked : {0.001, 0.9}) {
    s.until_ci = {{"half_width", asked}, {"pilot_seeds", 10}, {"seeds", 12}, {"baseline", "a"}};
    const Evaluation e = evaluate(s);
    REQUIRE(e.width);
    const auto& ratio = *e.aggregates[1].versus->pairs.ratio;
    CHECK(e.width->widest == Approx(ratio.interval.high / ratio.value - 1));
    CHECK(e.width->narrow == (asked > 0.5));
    CHECK_THAT(remarks(s, e), Catch::Contains("the first 10 seeds decided that 12 are needed"));
    CHECK_THAT(width_line(s, e), Catch::Contains(asked > 0.5 ? "as narrow as asked" : "wider than asked"));
  }
}

TEST_CASE("remarks explain the marks that are there, and no others", "[study]") {
  const Study one = study({}, {cell("a", {}, lasting({1})), cell("b", {}, lasting({2}))});
  const std::string single = remarks(one, evaluate(one));
  CHECK_THAT(single, Catch::Contains("A single seed says nothing"));
  for (const char* mark : {"`~`", "`?`", "`>=`", "(k/n)", "Kaplan", "median"})
    CHECK(single.find(mark) == std::string::npos);
  const Study few =
      study({}, {cell("a", {}, {reached(1), missed(2), missed(3)}), cell("b", {}, reaching({0.1, 0.2, 0.15})),
                 cell("c", {}, reaching({0.5, 1.5}))});
  const std::string text = remarks(few, evaluate(few));
  for (const char* mark : {"`>=`", "Kaplan-Meier", "95 % interval"}) CHECK_THAT(text, Catch::Contains(mark));
  CHECK_THAT(text, Catch::Contains("The median time of a is beyond the budget"));
  const Study clear =
      study({}, {cell("a", {}, lasting({1, 1.1, 1.2})), cell("b", {}, lasting({10, 11.1, 12.5}))});
  CHECK_THAT(remarks(clear, evaluate(clear)), Catch::Contains("`~`: with fewer than 5 seeds"));
  CHECK(column(clear, "versus-baseline")[1].ends_with(", 0/3 \\~"));
}
