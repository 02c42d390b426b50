// Goal: curves where their numbers are. Method: charts small enough to be drawn by hand.
#include "analysis/render/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "tests/support/catch.hpp"

using namespace psim::analysis;

namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result.push_back(line);
  return result;
}

// The plotting area of a chart, row by row from the top.
std::vector<std::string> area(const std::string& text, int height) {
  std::vector<std::string> rows = lines(text);
  REQUIRE(rows.size() > static_cast<std::size_t>(height));
  rows = {rows.begin() + 1, rows.begin() + 1 + height};
  for (std::string& row : rows) row = row.substr(row.find('|') + 1);
  return rows;
}

}  // namespace

TEST_CASE("a straight line is a diagonal", "[analysis]") {
  const std::string text =
      chart({{"up", {{0, -1}, {10, 3}}}}, {.x_label = "s", .y_label = "loss", .width = 5, .height = 5});
  CHECK(lines(text) == std::vector<std::string>{
                           "      loss",
                           "         3 |    a",
                           "           |   a",
                           "         1 |  a",
                           "           | a",
                           "        -1 |a",
                           "           +-----",
                           "            0 10 s",
                           "            a = up",
                       });
}

TEST_CASE("values above zero are drawn by their decades", "[analysis]") {
  const std::string text = chart({{"loss", {{0, 100}, {1, 10}, {2, 1}}}},
                                 {.x_label = "s", .y_label = "y", .width = 3, .height = 3});
  CHECK(lines(text)[0] == "         y (log scale)");
  CHECK(area(text, 3) == std::vector<std::string>{"a", " a", "  a"});
  CHECK(lines(text)[2].starts_with("        10 |"));
  // One value that is not above zero makes the axis linear for all.
  const std::string linear = chart({{"loss", {{0, 100}, {1, 10}, {2, 0}}}}, {.width = 3, .height = 3});
  CHECK(lines(linear)[0].find("log") == std::string::npos);
  CHECK(area(linear, 3) == std::vector<std::string>{"a", "", " aa"});
}

TEST_CASE("a curve is not drawn before its first point nor after its last", "[analysis]") {
  const std::string text =
      chart({{"long", {{0, 0}, {6, 0}}}, {"short", {{2, 2}, {4, 2}}}}, {.width = 7, .height = 3});
  CHECK(area(text, 3) == std::vector<std::string>{"  bbb", "", "aaaaaaa"});
  CHECK(lines(text).back() == "            b = short");
}

TEST_CASE("a curve's last point is drawn, whatever the rounding of the axis", "[analysis]") {
  int rounded_up = 0;
  for (int i = 1; i < 30; ++i) {
    for (int j = i + 1; j < 30; ++j) {
      const double low = i / 10.0, high = j / 10.0;
      rounded_up += low + (high - low) > high;
      CHECK(area(chart({{"up", {{low, -1}, {high, 1}}}}, {.width = 5, .height = 5}), 5)[0] == "    a");
    }
  }
  CHECK(rounded_up > 0);
}

TEST_CASE("curves that lie on each other take turns", "[analysis]") {
  const std::vector<std::pair<double, double>> same{{0, -1}, {5, -1}};
  const auto rows =
      area(chart({{"one", same}, {"two", same}, {"low", {{0, -2}, {5, -2}}}}, {.width = 6, .height = 2}), 2);
  CHECK(rows[0].find('a') != std::string::npos);
  CHECK(rows[0].find('b') != std::string::npos);
  CHECK(rows[0].size() == 6);
  CHECK(rows[1] == "cccccc");
}

TEST_CASE("what is not a number leaves a gap", "[analysis]") {
  const auto rows =
      area(chart({{"a", {{0, -1}, {1, -1}, {2, NAN}, {3, -1}, {4, HUGE_VAL}}}, {"b", {{0, -2}, {4, -3}}}},
                 {.width = 5, .height = 2}),
           2);
  CHECK(rows[0].substr(0, 2) == "aa");
  CHECK(std::ranges::count(rows[0], 'a') == 3);
  CHECK(rows[0][3] == 'a');
}

TEST_CASE("nothing is drawn of nothing", "[analysis]") {
  CHECK(chart({}, {}).empty());
  CHECK(chart({{"none", {}}}, {}).empty());
  CHECK(chart({{"a point", {{1, 1}}}}, {}).empty());
  CHECK(chart({{"no numbers", {{0, NAN}, {1, NAN}}}}, {}).empty());
}

TEST_CASE("a level curve is drawn in the middle", "[analysis]") {
  CHECK(area(chart({{"flat", {{0, 5}, {1, 5}}}}, {.width = 4, .height = 3}), 3) ==
        std::vector<std::string>{"", "aaaa", ""});
}

TEST_CASE("colour adds to the letters and takes nothing away", "[analysis]") {
  const std::vector<Series> series{{"up", {{0, -1}, {3, 2}}}, {"down", {{0, 2}, {3, -1}}}};
  const std::string plain = chart(series, {.width = 4, .height = 4});
  std::string coloured = chart(series, {.width = 4, .height = 4, .colour = true});
  CHECK(coloured.find("\033[34ma\033[0m") != std::string::npos);
  CHECK(coloured.find("\033[33mb\033[0m") != std::string::npos);
  for (std::size_t at = 0; (at = coloured.find('\033')) != std::string::npos;)
    coloured.erase(at, coloured.find('m', at) - at + 1);
  CHECK(coloured == plain);
}

TEST_CASE("thirty curves have thirty letters or digits", "[analysis]") {
  std::vector<Series> series;
  for (int i = 0; i < 30; ++i) series.push_back({"curve", {{0, -i}, {1, -i}}});
  std::set<char> names;
  for (const std::string& line : lines(chart(series, {.width = 4, .height = 30}))) {
    if (!line.ends_with(" = curve")) continue;
    names.insert(line[12]);
    CHECK(std::isalnum(static_cast<unsigned char>(line[12])));
  }
  CHECK(names.size() == 30);
}
