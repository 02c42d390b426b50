// Goal: a time line that people can read. Method: lines drawn by hand.
#include "analysis/timeline/text.hpp"

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim::analysis;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Lane lane(std::uint32_t node, const std::string& name, std::vector<Span> spans,
          std::vector<Mark> marks = {}) {
  return {.node = node, .name = name, .spans = std::move(spans), .marks = std::move(marks)};
}

// Of 40 characters 30 are for 30 s.
Timeline three() {
  return {.end = 30,
          .lanes = {lane(0, "scheduler", {}),
                    lane(1, "server 0", {{20, 25, Use::down, 1}}, {{10, "update", "version 1"}}),
                    lane(2, "worker 0",
                         {{0, 10, Use::compute, 2, 0},
                          {10, 18, Use::wait, 3, 1},
                          {18, 20, Use::wait, 1, 1},
                          {20, 30, Use::network, 1, 1}}),
                    lane(3, "worker 1", {{0, 20, Use::compute, 3, 0}, {20, 30, Use::compute, 3, 1}})},
          .shades = {{3, 0, 30, "straggler: 2 times slower"}}};
}

}  // namespace

TEST_CASE("a node's line says what it does", "[timeline]") {
  Timeline line = three();
  line.lanes[0].name = "sched";
  const std::vector<std::string> lines = lines_of(text_of(line, {.from = 0, .until = 30, .width = 40}));
  REQUIRE(lines.size() > 8);
  CHECK(lines[0] == "          0              15         30 s");
  CHECK(lines[1] == "          |--------------|-------------|");
  CHECK(lines[2] == "server 0            u         xxxxx");
  CHECK(lines[3] == "worker 0  CCCCCCCCCC..........nnnnnnnnnn");
  CHECK(lines[4] == "worker 1  CCCCCCCCCCCCCCCCCCCCCCCCCCCCCC");
  CHECK(lines[7] == "Waits, and the nodes that they were for:");
  CHECK(lines[8] == "  worker 0          10 s  worker 1 80 %, server 0 20 %");
  CHECK(lines.back() == "  worker 1  0 s to 30 s  straggler: 2 times slower");
}

TEST_CASE("of many nodes the line has those that matter", "[timeline]") {
  Timeline line{.end = 10, .lanes = {}, .shades = {{40, 0, 10, "slow"}}};
  for (std::uint32_t node = 0; node < 100; ++node) {
    // Node 70 waits the most, node 20 computes the most.
    const double share = node == 70 ? 1 : node == 20 ? 9 : 5;
    line.lanes.push_back(lane(node, "worker " + std::to_string(node),
                              {{0, share, Use::compute, node}, {share, 10, Use::wait, 0}}));
  }
  const std::vector<std::string> lines =
      lines_of(text_of(line, {.from = 0, .until = 10, .width = 60, .most_lanes = 3}));
  CHECK(lines[2].starts_with("worker 20 "));
  CHECK(lines[3].starts_with("worker 40 "));
  CHECK(lines[4].starts_with("worker 70 "));
  CHECK(lines[5].starts_with("(97 more nodes"));
}

TEST_CASE("waits for many nodes add up", "[timeline]") {
  Timeline line = three();
  line.lanes[2].spans = {
      {0, 4, Use::wait, 3}, {4, 7, Use::wait, 1}, {7, 9, Use::wait, 0}, {9, 10, Use::wait, 2}};
  CHECK(text_of(line, {.from = 0, .until = 30, .width = 80})
            .find("worker 1 40 %, server 0 30 %, scheduler 20 %, others 10 %\n") != std::string::npos);
}

TEST_CASE("the first clocks end with the last worker's", "[timeline]") {
  CHECK(end_of_clocks(three(), 1) == 20);
  CHECK(end_of_clocks(three(), 2) == 30);
  CHECK(end_of_clocks(three(), 100) == 30);
  CHECK(end_of_clocks({.end = 7, .lanes = {}, .shades = {}}, 1) == 7);
}

TEST_CASE("colours change no characters", "[timeline]") {
  const std::string plain = text_of(three(), {.from = 0, .until = 30, .width = 50});
  const std::string coloured = text_of(three(), {.from = 0, .until = 30, .width = 50, .colour = true});
  std::string without;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\033') i = coloured.find('m', i);
    else without += coloured[i];
  }
  CHECK(without == plain);
  CHECK(coloured != plain);
}

TEST_CASE("what happens to several nodes at once is one line, and there are twelve at most", "[timeline]") {
  Timeline line{.end = 30, .lanes = {}, .shades = {}};
  for (std::uint32_t n = 0; n < 6; ++n) line.lanes.push_back(lane(n, "worker " + std::to_string(n), {}));
  for (const std::uint32_t n : {0U, 2U, 3U, 4U}) line.shades.push_back({n, 1, 3, "partition"});
  for (int n = 0; n < 14; ++n) line.lanes[5].marks.push_back({10.0 + n, "suspicion", "suspects"});
  const std::string text = text_of(line, {.until = 30, .width = 80});
  INFO(text);
  CHECK(text.find("\n  worker 0, 2-4 1 s to 3 s  partition\n") != std::string::npos);
  CHECK(text.find("20 s  suspects\n  and 3 more\n") != std::string::npos);
}
