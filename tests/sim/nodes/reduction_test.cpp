// The sum of gradients over a group of workers, of one range of the model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/nodes/peers/all_reduce_worker.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

std::string scenario(const std::string& algorithm, const std::string& more = "") {
  return "[model]\nkind = \"phantom\"\nparameters = 7\nprecision = \"float64\"\n[training]\nsteps = 3\n"
         "[compute]\ntime = \"1s\"\n[architecture]\nkind = \"all-reduce\"\nalgorithm = \"" +
         algorithm + "\"\n[cluster]\nworkers = 5\n[recovery]\nenabled = true\nworkers = \"remove\"\n" + more;
}

struct Setup {
  std::vector<std::uint32_t> members;
  Range range;
  std::int64_t first_round = 0;
  std::vector<std::vector<Numbers>> gradients;  // by rank, of the steps
};

struct Member {
  Member(Stage& stage, const Setup& setup, std::uint32_t rank)
      : group{setup.members, rank},
        mailbox(stage.job(), stage.worker(setup.members[rank]), true),
        strand(stage.job(), stage.worker(setup.members[rank]), mailbox),
        reduction(stage.job(), mailbox, strand, group, setup.range, setup.first_round) {}
  PeerGroup group;
  Mailbox mailbox;
  Strand strand;
  Reduction reduction;
};

// "RANK: NUMBERS" after each step; and at the end the rounds and the values that travelled.
Lines sums(const std::string& toml, const Setup& setup) {
  return on_stage(toml, [&](Stage& stage) {
    std::deque<Member> members;
    for (std::uint32_t rank = 0; rank < setup.members.size(); ++rank)
      members.emplace_back(stage, setup, rank);
    stage.job().network.on_arrival([&](const Message& message) {
      for (Member& member : members)
        if (member.mailbox.node() == message.from) member.mailbox.arrived(message);
    });
    std::vector<std::vector<std::string>> said(members.size());
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
      stage.act(stage.worker(setup.members[rank]), [&, rank] {
        for (std::size_t step = 0; step < setup.gradients[rank].size(); ++step) {
          const auto gradient = values_of(setup.gradients[rank][step]);
          const auto weights = values_of(Numbers(gradient->size(), 1.0));
          members[rank].reduction.run(static_cast<std::int64_t>(step), {weights, 0, weights->size()},
                                      gradient);
          said[rank].push_back(
              fmt::format("{}: {}", rank, fmt::join(numbers_of({gradient, 0, gradient->size()}), " ")));
        }
      });
    }
    stage.run();
    for (const auto& one : said)
      for (const std::string& line : one) stage.say(line);
    std::size_t values = 0;
    std::int64_t first = 1'000'000, last = -1;
    for (const Sent& sent : stage.recorded<Sent>()) {
      values += sent.values;
      first = std::min(first, *sent.part);
      last = std::max(last, *sent.part);
    }
    stage.say(values > 0 ? fmt::format("{} values in rounds from {} and before {}", values, first,
                                       setup.first_round + Reduction::rounds_of(members.front().group))
                         : "nothing was sent");
    if (last >= setup.first_round + Reduction::rounds_of(members.front().group)) stage.say("too many rounds");
  });
}

// Without its date.
std::string words(const std::string& line) { return line.substr(line.find(' ') + 1); }

Numbers numbers_in(const std::string& line) {
  Numbers numbers;
  std::string rest = words(line);
  rest = rest.substr(rest.find(' ') + 1);
  for (std::size_t at = 0; at < rest.size();) {
    std::size_t used = 0;
    numbers.push_back(std::stod(rest.substr(at), &used));
    at += used + 1;
  }
  return numbers;
}

}  // namespace

TEST_CASE("reduction: a group's range becomes its sum, and nothing else changes", "[roles][reduction]") {
  const Setup setup{
      .members = {0, 2, 4},
      .range = {1, 5},
      .first_round = 20,
      .gradients = {
          {{1, 2, 3, 4, 5, 6, 7}}, {{10, 20, 30, 40, 50, 60, 70}}, {{100, 200, 300, 400, 500, 600, 700}}}};
  for (const std::string algorithm : {"ring", "tree", "halving-doubling"}) {
    INFO(algorithm);
    const Lines lines = sums(scenario(algorithm), setup);
    REQUIRE(lines.size() == 4);
    CHECK(words(lines[0]) == "0: 1 222 333 444 555 666 7");
    CHECK(words(lines[1]) == "1: 10 222 333 444 555 666 70");
    CHECK(words(lines[2]) == "2: 100 222 333 444 555 666 700");
    CHECK(words(lines[3]).find("in rounds from 20 and before 28") != std::string::npos);
    if (algorithm != "halving-doubling")  // a ring and a tree move each value 2 (N - 1) times
      CHECK(words(lines[3]).starts_with("20 values"));
  }
}

TEST_CASE("reduction: of two and of five workers, step after step", "[roles][reduction]") {
  for (const std::string algorithm : {"ring", "tree", "halving-doubling"}) {
    INFO(algorithm);
    const Lines two =
        sums(scenario(algorithm), {.members = {3, 1},
                                   .range = {0, 7},
                                   .gradients = {{{1, 2, 3, 4, 5, 6, 7}, {1, 1, 1, 1, 1, 1, 1}},
                                                 {{1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 8}}}});
    REQUIRE(two.size() == 5);
    for (const std::size_t line : {0U, 2U}) CHECK(words(two[line]).substr(3) == "2 3 4 5 6 7 8");
    for (const std::size_t line : {1U, 3U}) CHECK(words(two[line]).substr(3) == "1 1 1 1 1 1 9");
    Setup five{.members = {0, 1, 2, 3, 4}, .range = {2, 3}, .gradients = {}};
    for (int rank = 0; rank < 5; ++rank) five.gradients.push_back({{0, 0, std::ldexp(1, rank), 1, 0, 0, 0}});
    const Lines all = sums(scenario(algorithm), five);
    REQUIRE(all.size() == 6);
    for (std::size_t rank = 0; rank < 5; ++rank)
      CHECK(words(all[rank]) == fmt::format("{}: 0 0 31 5 0 0 0", rank));
  }
}

TEST_CASE("reduction: a group of one sends nothing, and its filters have nothing to do",
          "[roles][reduction]") {
  const Setup alone{.members = {3}, .range = {0, 4}, .gradients = {{{0.3, 2, 3, 4}}}};
  for (const std::string filter : {"", "[[filter]]\nkind = \"two-bit\"\n",
                                   "[[filter]]\nkind = \"top-k\"\n"
                                   "fraction = 0.25\n"}) {
    const Lines lines = sums(scenario("ring", filter), alone);
    REQUIRE(lines.size() == 2);
    CHECK(words(lines[0]) == "0: 0.3 2 3 4");
    CHECK(words(lines[1]) == "nothing was sent");
  }
}

TEST_CASE("reduction: a filter that selects works on each gradient, and its rest comes in the next step",
          "[roles][reduction]") {
  // One value of four: of the first step the 8 and the 4, of the second what was left of the first.
  const Setup setup{.members = {1, 4},
                    .range = {1, 4},
                    .gradients = {{{9, 8, 1, 6, 0}, {9, 0, 0, 0, 0}}, {{9, 1, 4, 0, 3}, {9, 0, 0, 0, 0}}}};
  for (const std::string algorithm : {"ring", "tree", "halving-doubling"}) {
    INFO(algorithm);
    const Lines lines = sums(scenario(algorithm, "[[filter]]\nkind = \"top-k\"\nfraction = 0.25\n"), setup);
    REQUIRE(lines.size() == 5);
    for (const std::size_t line : {0U, 2U}) CHECK(words(lines[line]).substr(3) == "9 8 4 0 0");
    for (const std::size_t line : {1U, 3U}) CHECK(words(lines[line]).substr(3) == "9 0 0 6 3");
  }
}

TEST_CASE("reduction: quantised sums are the same everywhere, and what is lost is fed back",
          "[roles][reduction]") {
  constexpr int steps = 40;
  Setup setup{.members = {0, 2, 3}, .range = {0, 7}, .gradients = {}};
  const Numbers each{0.1, 0.2, -0.3, 0.3, 0.05, -0.15, 0.25};
  for (int rank = 0; rank < 3; ++rank) setup.gradients.push_back(std::vector<Numbers>(steps, each));
  for (const std::string algorithm : {"ring", "tree", "halving-doubling"}) {
    INFO(algorithm);
    const Lines lines = sums(scenario(algorithm, "[[filter]]\nkind = \"two-bit\"\nthreshold = 1.0\n"), setup);
    REQUIRE(lines.size() == 3 * steps + 1);
    Numbers mean(7, 0.0);
    for (std::size_t step = 0; step < steps; ++step) {
      const Numbers first = numbers_in(lines[step]);
      CHECK(first == numbers_in(lines[steps + step]));
      CHECK(first == numbers_in(lines[2 * steps + step]));
      for (std::size_t i = 0; i < 7; ++i) {
        CHECK((first[i] == 0 || std::abs(first[i]) == 1));  // what the filter can say
        mean[i] += first[i] / steps;
      }
    }
    for (std::size_t i = 0; i < 7; ++i) CHECK(std::abs(mean[i] - 3 * each[i]) < 0.2);
  }
}
