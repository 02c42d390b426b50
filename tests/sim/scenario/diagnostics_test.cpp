// What a user sees of a mistake: the nearest name, the place, and carets below the right columns.

#include "sim/scenario/text/diagnostics.hpp"
#include "model/base/unicode.hpp"
#include "sim/scenario/reference/reference.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// The excerpt and caret lines of the only diagnostic at columns `begin` to `end` of a source of one line.
std::string shown(const std::string& text, std::uint32_t begin, std::uint32_t end,
                  const std::string& label = "") {
  Diagnostics diagnostics;
  const std::size_t source = diagnostics.add_source({"a.toml", text});
  diagnostics.add({"unit",
                   {.source = source, .line = 1, .column = begin, .end_line = 1, .end_column = end},
                   "message",
                   label,
                   ""});
  const std::string report = diagnostics.render();
  const std::size_t first = report.find("1 | "), last = report.find("\n\n");
  return report.substr(first, last - first);
}

}  // namespace

TEST_CASE("edit distance counts insertions, removals, replacements and swaps of neighbours", "[scenario]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("ssp", "ssp") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("wrokers", "workers") == 1);
  CHECK(edit_distance("worker", "workers") == 1);
  CHECK(edit_distance("latencey", "latency") == 1);
  CHECK(edit_distance("bsp", "ssp") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("kitten", "sitting") == edit_distance("sitting", "kitten"));
}

TEST_CASE("the nearest name is suggested only when it may have been meant", "[scenario]") {
  const std::vector<std::string> names{"workers", "servers", "worker", "network", "k"};
  CHECK(nearest("wrokers", names) == "workers");
  CHECK(nearest("Workers", names) == "workers");
  CHECK(nearest("netwrok", names) == "network");
  CHECK(nearest("latency", names).empty());
  CHECK(nearest("x", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(nearest("sum", {"ssp", "bsp"}).empty());
  CHECK(nearest("workers", {}).empty());
  CHECK(nearest(std::string(100'000, 'w'), names).empty());
}

TEST_CASE("UTF-8 is told from other bytes", "[scenario]") {
  CHECK(first_code_point("a").bytes == 1);
  CHECK(first_code_point("\xc3\xa9").bytes == 2);
  CHECK(first_code_point("\xe2\x82\xac...").bytes == 3);
  CHECK(first_code_point("\xf0\x9f\x99\x82").bytes == 4);
  CHECK(first_code_point("a").value == U'a');
  CHECK(first_code_point("\xe2\x82\xac...").value == 0x20AC);
  CHECK(first_code_point("\xf0\x9f\x99\x82").value == 0x1F642);
  CHECK(first_code_point("").bytes == 0);
  CHECK(first_code_point("\xe9").bytes == 0);  // Latin-1
  CHECK(first_code_point("\xe9 a").bytes == 0);
  CHECK(first_code_point("\x80").bytes == 0);      // a continuation by itself
  CHECK(first_code_point("\xc0\x80").bytes == 0);  // overlong
  CHECK(first_code_point("\xe0\x9f\xbf").bytes == 0);
  CHECK(first_code_point("\xed\xa0\x80").bytes == 0);      // surrogate
  CHECK(first_code_point("\xf4\x90\x80\x80").bytes == 0);  // beyond U+10FFFF
}

TEST_CASE("carets stand below the region, whatever the width of what is before it", "[scenario]") {
  CHECK(shown("workers = 0", 11, 12, "here") == "1 | workers = 0\n  |           ^ here");
  CHECK(shown("workers = 10", 11, 13) == "1 | workers = 10\n  |           ^^");
  CHECK(shown("\ta\t= 5", 5, 6) == "1 | \ta\t= 5\n  | \t \t ^");
  CHECK(shown("\"\xc3\xa9t\xc3\xa9\" = 5", 9, 10) == "1 | \"\xc3\xa9t\xc3\xa9\" = 5\n  |         ^");
  CHECK(shown("\xe6\x97\xa5 = 5", 5, 6) == "1 | \xe6\x97\xa5 = 5\n  |      ^");  // two cells wide
  CHECK(shown("e\xcc\x81 = 5", 6, 7) == "1 | e\xcc\x81 = 5\n  |     ^");  // a combining accent has none
}

TEST_CASE("a caret past the end of its line is drawn there, and an empty region has one", "[scenario]") {
  CHECK(shown("a =", 5, 5) == "1 | a =\n  |     ^");
  CHECK(shown("", 1, 1) == "1 | \n  | ^");
  CHECK(shown("ab", 1, 100) == "1 | ab\n  | ^^");
}

TEST_CASE("bytes that a terminal might obey are not shown", "[scenario]") {
  CHECK(shown(std::string("a\x1b[31m\0\xff b", 10), 1, 2) == "1 | a?[31m?? b\n  | ^");
  CHECK(shown("\xe2\x80\xae"
              "a",
              2, 3) == "1 | ?a\n  |  ^");  // right-to-left override
  Diagnostics diagnostics;
  diagnostics.add({"unit", {.source = diagnostics.add_source({"a\x1b.toml", ""})}, "\x1b[2J", "\a", "\r"});
  CHECK(diagnostics.render() ==
        "error[unit]: ?[2J\n --> a?.toml\n  = note: ?\n  = help: ?\n\n1 error; nothing was run   next: psim "
        "explain unit\n");
}

TEST_CASE("of a long line, the part around the region is shown", "[scenario]") {
  const std::string text = std::string(5000, 'a') + "X" + std::string(5000, 'b');
  const std::string excerpt = shown(text, 5001, 5002);
  CHECK(excerpt.size() < 400);
  const std::size_t newline = excerpt.find('\n');
  CHECK(excerpt.find('X') == excerpt.find('^') - newline - 1);
}

TEST_CASE("diagnostics come out in the order of the file, and a great many are cut short", "[scenario]") {
  Diagnostics diagnostics;
  const std::size_t source = diagnostics.add_source({"a.toml", "a\nb\n"});
  CHECK(diagnostics.empty());
  diagnostics.add(
      {"unit", {.source = source, .line = 2, .column = 1, .end_line = 2, .end_column = 2}, "second", "", ""});
  diagnostics.add(
      {"unit", {.source = source, .line = 1, .column = 1, .end_line = 1, .end_column = 2}, "first", "", ""});
  const std::string report = diagnostics.render();
  CHECK(report.find("first") < report.find("second"));
  CHECK(report.ends_with("2 errors; nothing was run   next: psim explain unit\n"));
  for (int i = 0; i < 1000; ++i) diagnostics.add({"unit", {.source = source}, "again", "", ""});
  CHECK(diagnostics.render().find("... and 902 more") != std::string::npos);
}

TEST_CASE("a place in a text counts lines and code points from one", "[scenario]") {
  const std::string text = "a\n\xc3\xa9 = 5\n";
  const std::size_t five = text.find('5');
  const Place place = place_in(text, five, five + 1, 3);
  CHECK(place.source == 3);
  CHECK(place.line == 2);
  CHECK(place.column == 5);
  CHECK(place.end_column == 6);
  CHECK(offset_in(text, 2, 5) == five);
  CHECK(offset_in(text, 2, 1) == 2);
  CHECK(offset_in(text, 9, 1) == text.size());
  CHECK(place_in(text, 0, 1, 0).line == 1);
  CHECK(place_in(text, 0, 1, 0).column == 1);
}

TEST_CASE("topics have names of their own, and something to say", "[scenario]") {
  for (const Topic& topic : topics()) {
    CAPTURE(topic.name);
    CHECK(!topic.title.empty());
    CHECK(!topic.text.empty());
    CHECK(std::ranges::count(topics(), topic.name, &Topic::name) == 1);
  }
}
