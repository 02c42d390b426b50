#include "sim/cluster/turns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr double turn = 200'000;
constexpr std::uint64_t large = 10'000'000;  // bytes

Turns turns_of(std::uint64_t seed, double spread, double cv = 0, std::int64_t workers = 4,
               std::int64_t servers = 1) {
  Scenario scenario;
  scenario.cluster.workers = workers;
  scenario.cluster.servers = servers;
  scenario.seed = static_cast<std::int64_t>(seed);
  scenario.cluster.network.share_spread = spread;
  scenario.cluster.network.share_turn.value = turn;
  scenario.cluster.network.share_cv = cv;
  return Turns(scenario);
}

double mean_turn(const Turns& turns, NodeId from, NodeId to, std::uint64_t bytes, std::uint64_t messages) {
  double sum = 0;
  for (std::uint64_t i = 0; i < messages; ++i)
    sum += static_cast<double>(turns.share(from, to, i, bytes).last_turn);
  return sum / static_cast<double>(messages);
}

}  // namespace

TEST_CASE("under ideal sharing there are no turns", "[unit][turns]") {
  const Turns::Share share = turns_of(1, 0, 0.5).share(1, 2, 0, large);
  CHECK(share.last_turn == 0);
  CHECK(share.weight == 1);
}

TEST_CASE("last turns are anything up to a turn, and no connection has longer ones", "[unit][turns]") {
  const Turns turns = turns_of(1, 0.5);
  constexpr std::uint64_t messages = 10'000;
  // The standard deviation of a mean of n uniform draws is turn / sqrt(12 n).
  const double margin = 4 * turn / std::sqrt(12.0 * messages);
  for (const NodeId from : {1U, 2U, 3U}) {
    for (const NodeId to : {4U, 5U})
      CHECK(mean_turn(turns, from, to, large, messages) == Approx(turn / 2).epsilon(0).margin(margin));
  }
  CHECK(mean_turn(turns_of(1, 0.25), 1, 2, large, messages) ==
        Approx(turn / 4).epsilon(0).margin(margin / 2));
}

TEST_CASE("messages of a sender begin one after the other, each after a first turn", "[unit][turns]") {
  Scenario scenario;
  scenario.cluster.network.share_cv = 0;
  scenario.cluster.network.share_start.value = 100'000;
  Turns turns(scenario);
  const auto next = [&](std::uint32_t slot, NodeId from, std::uint64_t bytes, double now) {
    return turns.next({.slot = slot, .from = from, .to = slot, .bytes = bytes}, now, 1e6);
  };
  CHECK(next(10, 1, 400'000, 5).wait == 0);
  const Turns::Share second = next(11, 1, 400'000, 5);
  CHECK(second.wait == Approx(0.1));
  CHECK(second.weight == Approx(400.0 / 300));  // it has 300 kB to go when the first has a turn less
  CHECK(next(12, 2, 400'000, 5).wait == 0);     // another sender
  CHECK(next(13, 1, 1500, 5).wait == 0);        // a packet
  CHECK(next(14, 1, 50'000, 5.05).wait == Approx(0.15));
  CHECK(next(15, 1, 400'000, 5.2).wait == Approx(0.05));  // the short message's whole length
  CHECK(next(16, 1, 110'000, 5.2).weight == Approx(3));   // never more than a last turn has
  CHECK(turns.next({.slot = 17, .from = 1, .to = 17, .bytes = 400'000, .streamed = true}, 5.2, 1e6).wait ==
        0);
  CHECK(turns.next({.slot = 18, .from = 1, .to = 18, .bytes = 400'000}, 5.2, 0).wait == 0);
  const Turns::Share later = next(19, 1, 400'000, 9);
  CHECK(later.wait == 0);
  CHECK(later.weight == 1);
}

TEST_CASE("a last turn is less than its message, and nothing divides a packet", "[unit][turns]") {
  const Turns turns = turns_of(1, 3);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    CHECK(turns.share(1, 2, i, 1501).last_turn < 1501);
    CHECK(turns.share(1, 2, i, 1500).last_turn == 0);
    CHECK(turns.share(1, 2, i, 0).last_turn == 0);
  }
  CHECK(mean_turn(turns, 1, 2, 40'000, 10'000) == Approx(20'000).epsilon(0.03));
}

TEST_CASE("the draw depends on seed, ends and number of a message alone", "[unit][turns]") {
  const Turns turns = turns_of(1, 0.5), same = turns_of(1, 0.5), other = turns_of(2, 0.5);
  std::vector<std::uint64_t> draws;
  for (const NodeId from : {1U, 2U}) {
    for (const NodeId to : {1U, 2U}) {
      for (std::uint64_t i = 0; i < 100; ++i) {
        draws.push_back(turns.share(from, to, i, large).last_turn);
        CHECK(draws.back() == same.share(from, to, i, large).last_turn);
        draws.push_back(other.share(from, to, i, large).last_turn);
      }
    }
  }
  std::ranges::sort(draws);
  const auto repeated = std::ranges::unique(draws);
  CHECK(repeated.size() < 10);  // 800 of 200,000 values: about 2 coincide
}

TEST_CASE("weights are lognormal with mean 1 and the given variation", "[unit][turns]") {
  // Eight workers: a variation of 0.2 of the message, and of 0.3 of all messages of its sender.
  const Turns turns = turns_of(1, 0.5, 0.1, 8);
  const double variance = std::log1p(0.04) + std::log1p(0.09), variation = std::sqrt(std::expm1(variance));
  constexpr int messages = 20'000;
  double sum = 0, square = 0, logs = 0;
  for (int i = 0; i < messages; ++i) {
    const double weight = turns.share(1, 2, static_cast<std::uint64_t>(i), large).weight;
    sum += weight / messages;
    square += weight * weight / messages;
    logs += std::log(weight) / messages;
  }
  // Standard errors: 0.36 / sqrt(20000) of the mean; about 0.0035 of the variation.
  CHECK(sum == Approx(1).epsilon(0).margin(4 * 0.0026));
  CHECK(std::sqrt(square - sum * sum) / sum == Approx(variation).epsilon(0).margin(4 * 0.0035));
  CHECK(logs == Approx(-variance / 2).epsilon(0).margin(4 * 0.0026));
  CHECK(turns.share(1, 2, 0, 1500).weight == 1);
  CHECK(turns_of(1, 0.5).share(1, 2, 0, large).weight == 1);
}

TEST_CASE("messages of a sender with one number are fast or slow together", "[unit][turns]") {
  const Turns turns = turns_of(1, 0.5, 0.1, 8);
  // The correlation of the logarithms of two weights, for messages that `other` names.
  const auto correlation = [&](auto other) {
    constexpr int messages = 20'000;
    double product = 0, square = 0;
    const double mean = -(std::log1p(0.04) + std::log1p(0.09)) / 2;
    for (std::uint64_t i = 0; i < messages; ++i) {
      const double a = std::log(turns.share(1, 2, i, large).weight) - mean,
                   b = std::log(other(i).weight) - mean;
      product += a * b;
      square += a * a;
    }
    return product / square;
  };
  const double share = std::log1p(0.09) / (std::log1p(0.04) + std::log1p(0.09));
  CHECK(correlation([&](std::uint64_t i) { return turns.share(1, 3, i, large); }) ==
        Approx(share).epsilon(0).margin(0.03));
  CHECK(std::abs(correlation([&](std::uint64_t i) { return turns.share(4, 2, i, large); })) < 0.03);
  CHECK(std::abs(correlation([&](std::uint64_t i) { return turns.share(1, 3, i + 1, large); })) < 0.03);
}

TEST_CASE("weights vary with the number of connections of a port, up to eight", "[unit][turns]") {
  const auto size = [](std::int64_t workers, std::int64_t servers) {
    return std::abs(std::log(turns_of(1, 0.5, 0.001, workers, servers).share(1, 2, 0, large).weight));
  };
  const double four = size(4, 1);
  CHECK(size(1, 1) == Approx(four / 4).epsilon(0.01));
  CHECK(size(2, 1) == Approx(four / 2).epsilon(0.01));
  CHECK(size(2, 8) == Approx(2 * four).epsilon(0.01));
  CHECK(size(100, 8) == Approx(2 * four).epsilon(0.01));
}

TEST_CASE("the weight changes no last turn", "[unit][turns]") {
  for (std::uint64_t i = 0; i < 100; ++i)
    CHECK(turns_of(1, 0.5, 0.3).share(1, 2, i, large).last_turn ==
          turns_of(1, 0.5).share(1, 2, i, large).last_turn);
}
