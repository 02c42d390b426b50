// Could the difference be luck? Tests that assume no distribution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace psim::statistics {

struct SignFlip {
  double p = 1;       // two-sided
  bool exact = true;  // all 2^n signs were tried; otherwise random ones
};
constexpr std::size_t most_exact_flips = 16;  // differences: 65,536 ways

// p is at least 2 / 2^n. With fewer differences than these it hardly survives a correction, however clear
// they are.
constexpr std::size_t fewest_flips = 10;

// If the two arms are alike, each difference could as well have had the other sign. p is the share of all
// ways to set the signs whose sum is at least as far from 0 (Fisher, The design of experiments, 1935, section
// 21). Beyond `most_exact_flips` differences: (1 + hits) / (1 + draws) over random signs (Phipson and Smyth,
// 2010).
SignFlip sign_flip(std::span<const double> differences, std::uint64_t seed = 1, std::size_t draws = 20'000);

// Runs with one seed that ended differently: the target was reached by one of the two arms alone.
struct Discordant {
  std::size_t arm = 0, baseline = 0;  // by whom
};
// Could one as well have reached it as the other? Exact, two-sided (McNemar, Note on the sampling error of
// the difference between correlated proportions or percentages, 1947): the share of all 2^d ways to set d
// signs that are at least as unequal. 1 where no run ended differently. Throws std::invalid_argument beyond
// 10,000.
double mcnemar(const Discordant& runs);

// With how few seeds can the clearest of `tests` comparisons have a corrected p of at most `level`? The
// sign-flip test of n seeds and McNemar's test of n runs cannot get below 2 / 2^n, nor Holm's correction of
// it below `tests` times that.
std::size_t seeds_for_holm(std::size_t tests, double level = 0.05);

// Step-down correction of a family of tests (Holm, A simple sequentially rejective multiple test procedure,
// 1979): p values, in the order given, of which none is smaller than the raw one.
std::vector<double> holm(std::span<const double> p);

// Which values are better ones.
enum class Better { smaller, larger };

// Share of all pairs (x of arm, y of baseline) where x is better, ties as half: Mann-Whitney's U / (n m).
double probability_of_better(std::span<const double> arm, std::span<const double> baseline, Better better);

}  // namespace psim::statistics
