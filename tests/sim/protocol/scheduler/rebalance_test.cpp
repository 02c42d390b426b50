// Goal: a server that joins gets about the mean load, from those that have most, and no more moves than
// that. Method: loads by hand, and drawn ones.
#include "sim/protocol/scheduler/rebalance.hpp"

#include <algorithm>
#include <map>

#include "model/base/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

using Shards = std::vector<LoadedShard>;

// The shards after the moves.
Shards moved(Shards shards, const std::vector<Taken>& moves, std::uint32_t joiner) {
  for (const Taken& move : moves) {
    if (move.at == 0) {
      shards[move.shard].server = joiner;
      continue;
    }
    LoadedShard& lower = shards[move.shard];
    REQUIRE(move.at < lower.values);
    const double share = static_cast<double>(move.at) / static_cast<double>(lower.values);
    const LoadedShard upper{joiner, lower.load * (1 - share), lower.values - move.at};
    lower.load *= share;
    lower.values = move.at;
    shards.push_back(upper);
  }
  return shards;
}

// By server, after the moves.
std::map<std::uint32_t, double> loads_after(const Shards& shards, const std::vector<Taken>& moves,
                                            std::uint32_t joiner) {
  std::map<std::uint32_t, double> loads;
  for (const LoadedShard& shard : moved(shards, moves, joiner)) loads[shard.server] += shard.load;
  return loads;
}

}  // namespace

TEST_CASE("the highest load of those that fit moves whole", "[rebalance]") {
  // The mean over three servers is 40: server 1 may give 30, and then server 2 has most and may give 10.
  const Shards shards{{1, 10, 5}, {1, 30, 5}, {1, 30, 5}, {2, 20, 5}, {2, 30, 5}};
  CHECK(take_share(shards, {1, 2, 3}, 3) == std::vector<Taken>{{1, 0}, {4, 3}});
}

TEST_CASE("a shard that alone is too much is cut, and its upper part moves", "[rebalance]") {
  CHECK(take_share({{1, 80, 1000}}, {1, 2}, 2) == std::vector<Taken>{{0, 500}});
  CHECK(take_share({{1, 80, 1000}, {1, 10, 10}, {2, 90, 1000}}, {1, 2, 3}, 3) ==
        std::vector<Taken>{{1, 0}, {2, 667}, {0, 750}});
}

TEST_CASE("nothing moves to who has its share, from nobody, or of nothing", "[rebalance]") {
  CHECK(take_share({{1, 50, 10}, {2, 51, 10}}, {1, 2}, 1).empty());
  CHECK(take_share({}, {1, 2}, 2).empty());
  CHECK(take_share({{1, 0, 10}}, {1, 2}, 2).empty());
  CHECK(take_share({{1, 80, 1}}, {1, 2}, 2).empty());   // one value cannot be cut
  CHECK(take_share({{0, 80, 10}}, {1, 2}, 2).empty());  // nobody serves it
}

TEST_CASE("after a join no server has more than before, and the joiner has about the mean", "[rebalance]") {
  Stream stream(7, "rebalance test");
  for (int run = 0; run < 300; ++run) {
    const auto servers = static_cast<std::uint32_t>(1 + stream.below(6));
    const std::uint32_t joiner = servers + 1;
    Shards shards;
    double total = 0;
    for (std::uint64_t s = 1 + stream.below(20); s > 0; --s) {
      shards.push_back({1 + static_cast<std::uint32_t>(stream.below(servers)), 100 * stream.uniform(),
                        static_cast<std::size_t>(1'000'000)});
      total += shards.back().load;
    }
    std::vector<std::uint32_t> up;
    for (std::uint32_t node = 1; node <= joiner; ++node) up.push_back(node);
    const std::vector<Taken> moves = take_share(shards, up, joiner);
    auto before = loads_after(shards, {}, joiner), after = loads_after(shards, moves, joiner);
    const double mean = total / joiner;
    // Each of the others keeps what is less than five percent of the mean too much, or too little for a whole
    // shard where no shard is cut.
    const bool cuts_none = shards.size() >= 4 * up.size();
    CHECK(after[joiner] <= mean * 1.001);
    CHECK(after[joiner] >= mean - (cuts_none ? 100 : 0.051 * mean) * std::max(1U, servers));
    for (std::uint32_t node = 1; node <= servers; ++node) {
      CHECK(after[node] <= before[node] + 1e-9);
      CHECK(after[node] >= std::min(before[node], mean) - 1e-3 * mean);
    }
    const auto cuts = std::ranges::count_if(moves, [](const Taken& move) { return move.at > 0; });
    CHECK(cuts <= servers);  // each giver is cut at most once
  }
}

TEST_CASE("joins without end do not cut the model into crumbs", "[rebalance]") {
  Stream stream(11, "rebalance test");
  const std::vector<std::uint32_t> servers{1, 2, 3, 4};
  Shards shards{{1, 0, 500'000}, {2, 0, 300'000}, {3, 0, 200'000}};
  for (int join = 0; join < 1000; ++join) {
    for (LoadedShard& shard : shards) shard.load = 100 * stream.uniform();
    const auto joiner = static_cast<std::uint32_t>(1 + stream.below(4));
    shards = moved(shards, take_share(shards, servers, joiner), joiner);
  }
  CHECK(shards.size() == 16);
}
