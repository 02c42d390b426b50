// All random numbers of a run. A draw depends only on (seed, purpose, who, step). So a new worker, fault or
// log line changes no other draws, and two consistency models meet the same stragglers in the same steps
// (common random numbers). psim has its own distributions because those of standard libraries differ between
// vendors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace psim {

// SplitMix64's finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30U;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27U;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

constexpr std::uint64_t combine(std::uint64_t key, std::uint64_t value) {
  return mix(key ^ mix(value + 0x9e3779b97f4a7c15U));
}

constexpr std::uint64_t combine(std::uint64_t key, std::string_view text) {
  for (const char c : text) key = combine(key, static_cast<unsigned char>(c));
  return key;
}

// A counter-based stream: the i-th number is a hash of (key, i).
class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view purpose, std::uint64_t who = 0, std::uint64_t step = 0)
      : key_(combine(combine(combine(mix(seed + 1), purpose), who), step)) {}

  std::uint64_t next() { return mix(key_ + 0x9e3779b97f4a7c15U * ++counter_); }

  double uniform();  // in (0, 1), never 0 or 1
  double uniform(double low, double high);
  std::uint64_t below(std::uint64_t n);  // in [0, n), unbiased; n > 0
  double normal();                       // mean 0, standard deviation 1
  double exponential();                  // mean 1
  double gamma(double shape);            // mean `shape`, scale 1; shape > 0
  double pareto(double alpha);           // minimum 1, tail exponent alpha > 0

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

// A uniformly random order of 0..n-1 (Fisher-Yates).
std::vector<std::uint32_t> permutation(std::uint32_t n, Stream stream);

}  // namespace psim
