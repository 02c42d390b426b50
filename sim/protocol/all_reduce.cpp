#include "sim/protocol/all_reduce.hpp"

#include <algorithm>
#include <bit>

#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

// Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 2009. In N - 1
// rounds every chunk goes around once and is summed; in N - 1 further rounds the sums go around.
std::vector<Exchange> ring(std::uint32_t n, std::uint32_t me) {
  std::vector<Exchange> result;
  const std::uint32_t right = (me + 1) % n, left = (me + n - 1) % n;
  const auto chunk = [n](std::uint32_t i) { return Chunks{i % n, i % n + 1}; };
  std::int64_t round = 0;
  for (std::uint32_t s = 0; s + 1 < n; ++s) {  // reduce-scatter: ends with the sum of chunk me + 1
    result.push_back({.round = round++,
                      .send = Exchange::Partner{right, chunk(me + n - s)},
                      .receive = Exchange::Partner{left, chunk(me + n - s - 1)},
                      .reduces = true});
  }
  for (std::uint32_t s = 0; s + 1 < n; ++s) {  // all-gather
    result.push_back({.round = round++,
                      .send = Exchange::Partner{right, chunk(me + 1 + n - s)},
                      .receive = Exchange::Partner{left, chunk(me + n - s)}});
  }
  return result;
}

// A binomial tree with its root at worker 0: whole vectors are summed towards the root, and the sum goes
// back.
std::vector<Exchange> tree(std::uint32_t n, std::uint32_t me) {
  std::vector<Exchange> result;
  const Chunks all{0, n};
  const std::int64_t depth = std::bit_width(n - 1);
  for (std::int64_t level = 0; level < depth; ++level) {  // reduce
    const std::uint32_t distance = 1U << static_cast<unsigned>(level);
    if ((me & distance) != 0) {
      result.push_back(
          {.round = level, .send = Exchange::Partner{me - distance, all}, .receive = {}, .reduces = true});
      break;
    }
    if (me + distance < n)
      result.push_back(
          {.round = level, .send = {}, .receive = Exchange::Partner{me + distance, all}, .reduces = true});
  }
  for (std::size_t i = result.size(); i-- > 0;) {  // broadcast: the same way back
    const Exchange there = result[i];
    result.push_back({.round = 2 * depth - 1 - there.round, .send = there.receive, .receive = there.send});
  }
  return result;
}

// If the number of workers exceeds a power of two by p, the first 2 p workers form p pairs. A pair works as
// one worker: its even member first gives its vector to the odd member, and gets the sum at the end.
struct Fold {
  std::uint32_t power, pairs;
  explicit Fold(std::uint32_t n) : power(std::bit_floor(n)), pairs(n - power) {}
  bool is_out(std::uint32_t worker) const { return worker < 2 * pairs && worker % 2 == 0; }
  std::uint32_t within(std::uint32_t worker) const {
    return worker < 2 * pairs ? worker / 2 : worker - pairs;
  }
  std::uint32_t worker(std::uint32_t within) const {
    return within < pairs ? 2 * within + 1 : within + pairs;
  }
};

// Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH, IJHPCA 2005
// (after Rabenseifner): recursive vector halving with distance doubling, and back.
std::vector<Exchange> halving_doubling(std::uint32_t n, std::uint32_t me) {
  std::vector<Exchange> result;
  const Fold fold(n);
  const Chunks all{0, fold.power};
  const std::int64_t folded = fold.pairs > 0 ? 1 : 0;  // a round before, and one after
  const std::int64_t last = folded + 2 * (std::bit_width(fold.power) - 1);
  if (fold.is_out(me)) {
    return {{.round = 0, .send = Exchange::Partner{me + 1, all}, .receive = {}, .reduces = true},
            {.round = last, .send = {}, .receive = Exchange::Partner{me + 1, all}}};
  }
  const bool is_pair = me < 2 * fold.pairs;
  if (is_pair)
    result.push_back({.round = 0, .send = {}, .receive = Exchange::Partner{me - 1, all}, .reduces = true});
  Chunks mine = all;
  std::int64_t round = folded;
  const std::size_t first = result.size();
  const std::uint32_t within = fold.within(me);
  for (std::uint32_t distance = fold.power / 2; distance > 0; distance /= 2) {  // reduce-scatter
    const std::uint32_t middle = (mine.first + mine.last) / 2;
    const Chunks lower{mine.first, middle}, upper{middle, mine.last};
    const bool keeps_lower = (within & distance) == 0;
    const std::uint32_t partner = fold.worker(within ^ distance);
    mine = keeps_lower ? lower : upper;
    result.push_back({.round = round++,
                      .send = Exchange::Partner{partner, keeps_lower ? upper : lower},
                      .receive = Exchange::Partner{partner, mine},
                      .reduces = true});
  }
  for (std::size_t i = result.size(); i-- > first;) {  // all-gather: the same way back
    const Exchange there = result[i];
    result.push_back({.round = round++, .send = there.receive, .receive = there.send});
  }
  if (is_pair) result.push_back({.round = last, .send = Exchange::Partner{me - 1, all}, .receive = {}});
  return result;
}

// In N - 1 rounds every vector goes around once.
std::vector<Exchange> gather_around(std::uint32_t n, std::uint32_t me) {
  std::vector<Exchange> result;
  const std::uint32_t right = (me + 1) % n, left = (me + n - 1) % n;
  for (std::uint32_t s = 0; s + 1 < n; ++s) {
    const std::uint32_t own = (me + n - s) % n, next = (me + n - s - 1) % n;
    result.push_back({.round = s,
                      .send = Exchange::Partner{right, {own, own + 1}},
                      .receive = Exchange::Partner{left, {next, next + 1}}});
  }
  return result;
}

// Along a binomial tree: each worker sends up the vectors of the workers below it, then all vectors go down
// (gather and broadcast).
std::vector<Exchange> gather_along_tree(std::uint32_t n, std::uint32_t me) {
  std::vector<Exchange> result = tree(n, me);
  const std::int64_t depth = std::bit_width(n - 1);
  for (Exchange& one : result) {
    if (one.round >= depth) continue;
    const std::uint32_t reach = 1U << static_cast<unsigned>(one.round);
    if (one.send) one.send->chunks = {me, std::min(n, me + reach)};
    if (one.receive) one.receive->chunks = {one.receive->worker, std::min(n, one.receive->worker + reach)};
    one.reduces = false;
  }
  return result;
}

// Recursive doubling; the even members of the pairs give their vectors to the odd members first.
std::vector<Exchange> gather_doubling(std::uint32_t n, std::uint32_t me) {
  std::vector<Exchange> result;
  const Fold fold(n);
  const std::int64_t folded = fold.pairs > 0 ? 1 : 0;
  const std::int64_t last = folded + std::bit_width(fold.power) - 1;
  if (fold.is_out(me)) {
    return {{.round = 0, .send = Exchange::Partner{me + 1, {me, me + 1}}, .receive = {}},
            {.round = last, .send = {}, .receive = Exchange::Partner{me + 1, {0, n}}}};
  }
  const bool is_pair = me < 2 * fold.pairs;
  if (is_pair) result.push_back({.round = 0, .send = {}, .receive = Exchange::Partner{me - 1, {me - 1, me}}});
  // The vectors of `count` workers from `begin` on within the power of two, including their partners in
  // pairs.
  const auto those = [&fold](std::uint32_t begin, std::uint32_t count) {
    return Chunks{begin + std::min(begin, fold.pairs), begin + count + std::min(begin + count, fold.pairs)};
  };
  const std::uint32_t within = fold.within(me);
  std::int64_t round = folded;
  for (std::uint32_t distance = 1; distance < fold.power; distance *= 2) {
    const std::uint32_t own = within & ~(distance - 1), others = own ^ distance;
    const std::uint32_t partner = fold.worker(within ^ distance);
    result.push_back({.round = round++,
                      .send = Exchange::Partner{partner, those(own, distance)},
                      .receive = Exchange::Partner{partner, those(others, distance)}});
  }
  if (is_pair) result.push_back({.round = last, .send = Exchange::Partner{me - 1, {0, n}}, .receive = {}});
  return result;
}

}  // namespace

std::vector<Exchange> exchanges(AllReduceAlgorithm algorithm, std::uint32_t workers, std::uint32_t me) {
  expects(me < workers, "a worker reduces in its own group");
  switch (algorithm) {
    case AllReduceAlgorithm::ring: return ring(workers, me);
    case AllReduceAlgorithm::tree: return tree(workers, me);
    case AllReduceAlgorithm::halving_doubling: return halving_doubling(workers, me);
  }
  return {};
}

std::uint32_t chunk_count(AllReduceAlgorithm algorithm, std::uint32_t workers) {
  return algorithm == AllReduceAlgorithm::halving_doubling ? std::bit_floor(workers) : workers;
}

std::vector<Exchange> gathering(AllReduceAlgorithm algorithm, std::uint32_t workers, std::uint32_t me) {
  expects(me < workers, "a worker gathers in its own group");
  switch (algorithm) {
    case AllReduceAlgorithm::ring: return gather_around(workers, me);
    case AllReduceAlgorithm::tree: return gather_along_tree(workers, me);
    case AllReduceAlgorithm::halving_doubling: return gather_doubling(workers, me);
  }
  return {};
}

Range range_of(Chunks chunks, std::size_t total, std::uint32_t count) {
  expects(chunks.first < chunks.last && chunks.last <= count, "a message has a chunk");
  const std::size_t begin = even_range(total, count, chunks.first).begin;
  const Range last = even_range(total, count, chunks.last - 1);
  return {begin, last.begin + last.count - begin};
}

std::vector<std::uint32_t> ranks_along(AllReduceAlgorithm algorithm, std::uint32_t workers) {
  std::vector<std::uint32_t> ranks;
  if (algorithm != AllReduceAlgorithm::halving_doubling) {
    for (std::uint32_t rank = 0; rank < workers; ++rank) ranks.push_back(rank);
    return ranks;
  }
  const Fold fold(workers);
  const int bits = std::bit_width(fold.power) - 1;
  for (std::uint32_t place = 0; place < fold.power; ++place) {
    std::uint32_t within = 0;
    for (int bit = 0; bit < bits; ++bit) within |= (place >> bit & 1U) << (bits - 1 - bit);
    const std::uint32_t rank = fold.worker(within);
    if (within < fold.pairs) ranks.push_back(rank - 1);
    ranks.push_back(rank);
  }
  return ranks;
}

bool workers_talk(const ArchitectureSpec& spec, std::uint32_t workers, std::uint32_t first,
                  std::uint32_t second) {
  const std::uint32_t a = spec.rank_of(first), b = spec.rank_of(second);
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
    case AllReduceAlgorithm::halving_doubling: break;
  }
  const Fold fold(workers);
  if (fold.is_out(a) || fold.is_out(b)) return neighbours && fold.is_out(std::min(a, b));
  return std::has_single_bit(fold.within(a) ^ fold.within(b));
}

std::vector<Bucket> cut_in_buckets(const std::vector<ParameterArray>& arrays, std::size_t slice,
                                   std::size_t most) {
  std::vector<Bucket> buckets;
  const auto add = [&](Range range, std::uint32_t layer) {
    Bucket* last = buckets.empty() ? nullptr : &buckets.back();
    const bool fits = last != nullptr && last->range.count + range.count <= most;
    if (!fits) return buckets.push_back({range, layer});
    last->range = {range.begin, last->range.count + range.count};
    last->layer = std::min(last->layer, layer);
  };
  for (std::size_t a = arrays.size(); a-- > 0;) {
    const Range& whole = arrays[a].range;
    const std::size_t length = slice > 0 ? slice : std::max<std::size_t>(whole.count, 1);
    for (std::size_t end = whole.count; end > 0;) {
      const std::size_t begin = (end - 1) / length * length;
      add({whole.begin + begin, end - begin}, arrays[a].layer);
      end = begin;
    }
  }
  return buckets;
}

}  // namespace psim
