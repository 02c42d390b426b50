// Consistent hashing against theory: with random positions the servers' shares of the ring have a Dirichlet
// distribution, and keys move only to or from the server that comes or goes (Karger et al. 1997; Stoica et
// al. 2001). One ring is one sample, so means over many are compared, within four standard errors.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "sim/protocol/key_space.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr std::size_t total = std::size_t{1} << 50U;  // keys; so many that rounding does not show

HashRing ring_of(std::uint32_t servers, std::int64_t virtual_nodes, std::uint64_t seed) {
  HashRing ring(seed, virtual_nodes);
  for (std::uint32_t s = 0; s < servers; ++s) ring.join(s);
  return ring;
}

std::vector<double> shares(const std::vector<PlacedRange>& owners, std::uint32_t servers) {
  std::vector<double> result(servers, 0);
  for (const PlacedRange& part : owners)
    result[part.server] += static_cast<double>(part.range.count) / static_cast<double>(total);
  return result;
}

struct Estimate {
  double mean, sd, error;  // of the mean
};

Estimate over_rings(int rings, const std::function<double(std::uint64_t seed)>& measure) {
  double sum = 0, squares = 0;
  for (int i = 0; i < rings; ++i) {
    const double x = measure(static_cast<std::uint64_t>(i) + 1);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / rings, sd = std::sqrt(std::max(0.0, squares / rings - mean * mean));
  return {mean, sd, sd / std::sqrt(rings)};
}

// Hands every part of the key space with its owners before and after to `visit`.
void overlay(const std::vector<PlacedRange>& before, const std::vector<PlacedRange>& after,
             const std::function<void(std::size_t count, std::uint32_t from, std::uint32_t to)>& visit) {
  for (std::size_t i = 0, j = 0, at = 0; at < total;) {
    const std::size_t end_i = before[i].range.begin + before[i].range.count;
    const std::size_t end_j = after[j].range.begin + after[j].range.count;
    const std::size_t end = std::min(end_i, end_j);
    visit(end - at, before[i].server, after[j].server);
    at = end;
    if (end == end_i) ++i;
    if (end == end_j) ++j;
  }
}

}  // namespace

TEST_CASE("hash ring: a server's share varies as Dirichlet's, (n - 1) / (n v + 1)", "[placement]") {
  for (const std::uint32_t n : {2U, 4U, 8U, 16U}) {
    for (const int v : {1, 10, 100}) {
      const Estimate square = over_rings(300, [&](std::uint64_t seed) {
        double sum = 0;
        for (const double share : shares(ring_of(n, v, seed).owners(total), n))
          sum += std::pow(share * n - 1, 2);
        return sum / n;
      });
      INFO("n = " << n << ", v = " << v);
      const double theory = (n - 1.0) / (n * v + 1.0);
      CHECK(square.mean == Approx(theory).epsilon(0).margin(4 * square.error));
    }
  }
}

TEST_CASE("hash ring: the fullest server with one point each has H_n / n", "[placement]") {
  for (const std::uint32_t n : {4U, 8U, 16U, 64U}) {
    const Estimate fullest = over_rings(1000, [&](std::uint64_t seed) {
      return n * std::ranges::max(shares(ring_of(n, 1, seed).owners(total), n));
    });
    double harmonic = 0;
    for (std::uint32_t i = 1; i <= n; ++i) harmonic += 1.0 / i;
    INFO("n = " << n);
    CHECK(fullest.mean == Approx(harmonic).epsilon(0).margin(4 * fullest.error));
  }
}

TEST_CASE("hash ring: virtual nodes even out the fullest server's load", "[placement]") {
  // Independent Monte-Carlo estimates from 300 rings, rounded to the digits given.
  struct Row {
    std::int64_t v;
    std::uint32_t n;
    double fullest, rounding;
  };
  for (const Row& row : {Row{10, 4, 1.34, 5e-3}, Row{10, 8, 1.49, 5e-3}, Row{10, 16, 1.64, 5e-3},
                         Row{10, 64, 1.90, 5e-3}, Row{100, 4, 1.105, 5e-4}, Row{100, 8, 1.148, 5e-4},
                         Row{100, 16, 1.184, 5e-4}, Row{1000, 4, 1.032, 5e-4}}) {
    const int rings = 100;
    const Estimate fullest = over_rings(rings, [&](std::uint64_t seed) {
      return row.n * std::ranges::max(shares(ring_of(row.n, row.v, seed).owners(total), row.n));
    });
    INFO("n = " << row.n << ", v = " << row.v);
    const double error = fullest.sd * std::sqrt(1.0 / rings + 1.0 / 300);
    CHECK(fullest.mean == Approx(row.fullest).epsilon(0).margin(4 * error + row.rounding));
  }
}

TEST_CASE("hash ring: a server that joins takes 1 / (n + 1), and only it takes", "[placement]") {
  struct Row {
    std::uint32_t n;
    double sd;  // of the share that moves, from an independent Monte-Carlo
  };
  for (const Row& row : {Row{4, 0.0179}, Row{8, 0.0104}, Row{16, 0.0056}}) {
    const Estimate moved = over_rings(200, [&](std::uint64_t seed) {
      HashRing ring = ring_of(row.n, 100, seed);
      const std::vector<PlacedRange> before = ring.owners(total);
      ring.join(row.n);
      std::size_t keys = 0, others = 0;
      overlay(before, ring.owners(total), [&](std::size_t count, std::uint32_t from, std::uint32_t to) {
        if (from != to) (to == row.n ? keys : others) += count;
      });
      CHECK(others == 0);
      return static_cast<double>(keys) / static_cast<double>(total);
    });
    INFO("n = " << row.n);
    CHECK(moved.mean == Approx(1.0 / (row.n + 1)).epsilon(0).margin(4 * moved.error));
    CHECK(moved.sd == Approx(row.sd).epsilon(0.25));  // 4 / sqrt(2 * 200), and rounding
  }
}

TEST_CASE("hash ring: a server that leaves gives away its own share, to neighbours", "[placement]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const std::int64_t v : {1, 7, 100}) {
      HashRing ring = ring_of(6, v, seed);
      const std::vector<PlacedRange> before = ring.owners(total);
      ring.leave(2);
      std::size_t moved = 0, owned = 0, others = 0;
      overlay(before, ring.owners(total), [&](std::size_t count, std::uint32_t from, std::uint32_t to) {
        if (from == 2) owned += count;
        if (from != to) (from == 2 ? moved : others) += count;
      });
      CHECK(moved == owned);
      CHECK(others == 0);
      ring.join(2);
      CHECK(ring.owners(total) == before);  // its points are its own: it comes back to the same places
    }
  }
}

TEST_CASE("hash ring: the first keys belong to the last point, for a ring has no seam", "[placement]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<PlacedRange> owners = ring_of(5, 3, seed).owners(total);
    CHECK(owners.front().server == owners.back().server);
  }
}

// The first server of each range's order that is there owns it: as a ring of those servers alone says.
TEST_CASE("hash ring: ranges that move as one follow the ring, whoever is away", "[placement]") {
  constexpr std::uint32_t servers = 5;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const std::int64_t v : {1, 4, 30}) {
      for (const std::size_t keys : {total, std::size_t{50}}) {
        const std::vector<RingRange> ranges = ring_of(servers, v, seed).ranges(keys);
        for (std::uint32_t away = 0; away + 1 < 1U << servers; ++away) {
          HashRing ring = ring_of(servers, v, seed);
          for (std::uint32_t s = 0; s < servers; ++s) {
            if ((away >> s & 1U) != 0) ring.leave(s);
          }
          std::vector<PlacedRange> placed;
          for (const RingRange& one : ranges) {
            const auto is_there = [away](std::uint32_t s) { return (away >> s & 1U) == 0; };
            const std::uint32_t owner = *std::ranges::find_if(one.order, is_there);
            if (!placed.empty() && placed.back().server == owner)
              placed.back().range.count += one.range.count;
            else placed.push_back({one.range, owner});
          }
          CHECK(placed == ring.owners(keys));
        }
      }
    }
  }
}
