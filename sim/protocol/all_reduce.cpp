#include "sim/protocol/all_reduce.hpp"

#include <algorithm>
#include <bit>

#include "model/mutant.hpp"

namespace psim {
namespace {

// Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 2009. In N - 1
// rounds every chunk goes once around and is added up; in N - 1 more the sums go around.
std::vector<Exchange> ring(std::uint32_t n, std::uint32_t me) {
  std::vector<Exchange> result;
  const std::uint32_t right = (me + 1) % n, left = (me + n - 1) % n;
  const auto chunk = [n](std::uint32_t i) { return Chunks{i % n, i % n + 1}; };
  std::int64_t round = 0;
  for (std::uint32_t s = 0; s + 1 < n; ++s) {  // reduce-scatter: ends with the sum of chunk me + 1
    result.push_back({.round = round++,
                      .send = Exchange::Part{right, chunk(me + n - s)},
                      .receive = Exchange::Part{left, chunk(me + n - s - 1)},
                      .add = true});
  }
  for (std::uint32_t s = 0; s + 1 < n; ++s) {  // all-gather
    result.push_back(
        {.round = round++,
         .send = Exchange::Part{right, chunk(me + 1 + n - s)},
         .receive = Exchange::Part{left, chunk(me + n - s + (mutant("sums-go-to-other-chunks") ? 1 : 0))}});
  }
  return result;
}

// A binomial tree with its root at worker 0: whole vectors are added up towards it, and the sum goes back.
std::vector<Exchange> tree(std::uint32_t n, std::uint32_t me) {
  std::vector<Exchange> result;
  const Chunks all{0, n};
  const std::int64_t depth = std::bit_width(n - 1);
  for (std::int64_t level = 0; level < depth; ++level) {  // reduce
    const std::uint32_t distance = 1U << static_cast<unsigned>(level);
    if ((me & distance) != 0) {
      result.push_back({.round = level, .send = Exchange::Part{me - distance, all}, .receive = {}});
      break;
    }
    if (me + distance < n)
      result.push_back(
          {.round = level, .send = {}, .receive = Exchange::Part{me + distance, all}, .add = true});
  }
  for (std::size_t i = result.size(); i-- > 0;) {  // broadcast: the same way back
    const Exchange there = result[i];
    result.push_back({.round = 2 * depth - 1 - there.round, .send = there.receive, .receive = there.send});
  }
  return result;
}

// Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH, IJHPCA 2005
// (after Rabenseifner): recursive vector halving with distance doubling, and back.
std::vector<Exchange> halving_doubling(std::uint32_t n, std::uint32_t me) {
  std::vector<Exchange> result;
  Chunks mine{0, n};
  std::int64_t round = 0;
  for (std::uint32_t distance = n / 2; distance > 0; distance /= 2) {  // reduce-scatter
    const std::uint32_t middle = (mine.first + mine.last) / 2;
    const Chunks lower{mine.first, middle}, upper{middle, mine.last};
    const bool keeps_lower = (me & distance) == 0;
    mine = keeps_lower ? lower : upper;
    result.push_back({.round = round++,
                      .send = Exchange::Part{me ^ distance, keeps_lower ? upper : lower},
                      .receive = Exchange::Part{me ^ distance, mine},
                      .add = true});
  }
  for (std::size_t i = result.size(); i-- > 0;) {  // all-gather: the same way back
    const Exchange there = result[i];
    result.push_back({.round = round++, .send = there.receive, .receive = there.send});
  }
  return result;
}

}  // namespace

std::vector<Exchange> exchanges(AllReduceAlgorithm algorithm, std::uint32_t workers, std::uint32_t me) {
  switch (algorithm) {
    case AllReduceAlgorithm::ring: return ring(workers, me);
    case AllReduceAlgorithm::tree: return tree(workers, me);
    case AllReduceAlgorithm::halving_doubling: return halving_doubling(workers, me);
  }
  return {};
}

Range range_of(Chunks chunks, std::size_t total, std::uint32_t workers) {
  const std::size_t begin = even_range(total, workers, chunks.first).begin;
  const Range last = even_range(total, workers, mutant("chunks-of-one") ? chunks.first : chunks.last - 1);
  return {begin, last.begin + last.count - begin};
}

bool workers_talk(const ArchitectureSpec& spec, std::uint32_t workers, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t distance = a < b ? b - a : a - b;
  const bool neighbours = distance == 1;
  switch (spec.kind) {
    case Architecture::parameter_server: return false;
    case Architecture::model_parallel: return neighbours;
    case Architecture::all_reduce: break;
  }
  switch (spec.algorithm) {
    case AllReduceAlgorithm::ring: return neighbours || distance + 1 == workers;
    case AllReduceAlgorithm::tree:  // a worker's parent lacks its lowest bit
      return std::has_single_bit(distance) && std::max(a, b) % (2 * distance) == distance;
    case AllReduceAlgorithm::halving_doubling: return std::has_single_bit(a ^ b);
  }
  return false;
}

}  // namespace psim
