#include "sim/protocol/all_reduce.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

using Schedule = std::vector<std::vector<Exchange>>;

Schedule schedule_of(AllReduceAlgorithm algorithm, std::uint32_t n) {
  Schedule schedule;
  for (std::uint32_t w = 0; w < n; ++w) schedule.push_back(exchanges(algorithm, n, w));
  return schedule;
}

struct Outcome {
  std::vector<std::vector<std::int64_t>> values;  // of every worker
  std::vector<std::size_t> sent;                  // values, by every worker
};

// Runs the rounds of all workers on vectors of integers. A message that nobody waits for, or a wait for a
// message that nobody sends, leaves values wrong or fails.
Outcome reduce(const Schedule& schedule, std::size_t size, std::uint32_t chunks) {
  const auto n = static_cast<std::uint32_t>(schedule.size());
  Outcome outcome{.values = {}, .sent = std::vector<std::size_t>(n)};
  for (std::uint32_t w = 0; w < n; ++w) {
    outcome.values.emplace_back();
    for (std::size_t i = 0; i < size; ++i)
      outcome.values[w].push_back(static_cast<std::int64_t>(1000 * i + (std::size_t{1} << w)));
  }
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // from, to, round
  std::map<Key, std::vector<std::int64_t>> mail;
  for (std::int64_t round = 0; round < 2 * n + 2; ++round) {
    for (const bool sending : {true, false}) {
      for (std::uint32_t w = 0; w < n; ++w) {
        for (const Exchange& e : schedule[w]) {
          if (e.round != round) continue;
          auto& mine = outcome.values[w];
          if (sending && e.send) {
            const Range r = range_of(e.send->chunks, size, chunks);
            const auto begin = mine.begin() + static_cast<std::ptrdiff_t>(r.begin);
            mail[{w, e.send->worker, round}] = {begin, begin + static_cast<std::ptrdiff_t>(r.count)};
            outcome.sent[w] += r.count;
          } else if (!sending && e.receive) {
            const Range r = range_of(e.receive->chunks, size, chunks);
            const auto part = mail.extract({e.receive->worker, w, round});
            REQUIRE(!part.empty());
            REQUIRE(part.mapped().size() == r.count);
            for (std::size_t i = 0; i < r.count; ++i)
              mine[r.begin + i] = part.mapped()[i] + (e.reduces ? mine[r.begin + i] : 0);
          }
        }
      }
    }
  }
  CHECK(mail.empty());
  return outcome;
}

struct Case {
  AllReduceAlgorithm algorithm;
  std::vector<std::uint32_t> workers;
};
const std::vector<Case> cases{
    {AllReduceAlgorithm::ring, {1, 2, 3, 4, 5, 8, 13}},
    {AllReduceAlgorithm::tree, {1, 2, 3, 4, 5, 6, 7, 8, 13, 16}},
    {AllReduceAlgorithm::halving_doubling, {1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16}},
};

}  // namespace

TEST_CASE("after an all-reduce every worker has the sum") {
  for (const Case& c : cases) {
    for (const std::uint32_t n : c.workers) {
      for (const std::size_t size : {std::size_t{1}, std::size_t{16}, std::size_t{37}}) {
        INFO("algorithm " << int(c.algorithm) << ", N = " << n << ", " << size << " values");
        const Outcome outcome = reduce(schedule_of(c.algorithm, n), size, chunk_count(c.algorithm, n));
        for (std::uint32_t w = 0; w < n; ++w) {
          for (std::size_t i = 0; i < size; ++i)
            REQUIRE(outcome.values[w][i] == static_cast<std::int64_t>(n * 1000 * i + (1U << n) - 1));
        }
      }
    }
  }
}

TEST_CASE("a ring and halving-doubling send the least possible: 2 (N - 1) / N of the model each") {
  for (const auto algorithm : {AllReduceAlgorithm::ring, AllReduceAlgorithm::halving_doubling}) {
    for (const std::size_t sent : reduce(schedule_of(algorithm, 8), 80, 8).sent) CHECK(sent == 2 * 7 * 10);
  }
}

TEST_CASE("a tree sends 2 (N - 1) models, over at most 2 log2 N rounds of one worker") {
  std::size_t sent = 0;
  const Schedule schedule = schedule_of(AllReduceAlgorithm::tree, 16);
  for (const std::size_t values : reduce(schedule, 10, 16).sent) sent += values;
  CHECK(sent == 2 * 15 * 10);
  CHECK(schedule[0].size() == 8);   // the root
  CHECK(schedule[15].size() == 2);  // a leaf
}

TEST_CASE("halving-doubling of any number: pairs that are folded in send and get one model more") {
  // Of 6 workers two pairs: workers 0 and 2 give theirs to 1 and 3, which with 4 and 5 are a power of two.
  const Outcome outcome = reduce(schedule_of(AllReduceAlgorithm::halving_doubling, 6), 40, 4);
  CHECK(outcome.sent == std::vector<std::size_t>{40, 100, 40, 100, 60, 60});
}

TEST_CASE("each worker sends every value of its partial sums once, or is the first to have the whole sum") {
  for (const Case& c : cases) {
    for (const std::uint32_t n : c.workers) {
      if (n == 1) continue;
      for (std::uint32_t w = 0; w < n; ++w) {
        INFO("algorithm " << int(c.algorithm) << ", N = " << n << ", worker " << w);
        const std::size_t size = 37;
        std::vector<int> coded(size);
        bool has_sent_sum = false, has_received_sum = false;
        for (const Exchange& e : exchanges(c.algorithm, n, w)) {
          const bool is_first_sum = !e.reduces && e.send && !has_sent_sum && !has_received_sum;
          if (e.send && (e.reduces || is_first_sum)) {
            const Range r = range_of(e.send->chunks, size, chunk_count(c.algorithm, n));
            for (std::size_t i = 0; i < r.count; ++i) ++coded[r.begin + i];
          }
          has_sent_sum = has_sent_sum || (!e.reduces && e.send);
          has_received_sum = has_received_sum || (!e.reduces && e.receive);
        }
        CHECK(coded == std::vector<int>(size, 1));
      }
    }
  }
}

TEST_CASE("after an all-gather every worker has all vectors, and nobody sends what it has not") {
  for (const Case& c : cases) {
    for (const std::uint32_t n : c.workers) {
      INFO("algorithm " << int(c.algorithm) << ", N = " << n);
      std::vector<std::vector<bool>> has(n, std::vector<bool>(n));
      for (std::uint32_t w = 0; w < n; ++w) has[w][w] = true;
      for (std::int64_t round = 0; round < 2 * n + 2; ++round) {
        std::vector<std::pair<std::uint32_t, Exchange::Partner>> sent;  // by whom, to whom
        for (std::uint32_t w = 0; w < n; ++w) {
          for (const Exchange& e : gathering(c.algorithm, n, w)) {
            if (e.round != round || !e.send) continue;
            for (std::uint32_t i = e.send->chunks.first; i < e.send->chunks.last; ++i) REQUIRE(has[w][i]);
            sent.emplace_back(w, *e.send);
          }
        }
        for (const auto& [from, part] : sent) {
          const auto rounds = gathering(c.algorithm, n, part.worker);
          const auto same = std::ranges::find_if(rounds, [&, from = from, part = part](const Exchange& e) {
            return e.round == round && e.receive && e.receive->worker == from &&
                   e.receive->chunks.first == part.chunks.first && e.receive->chunks.last == part.chunks.last;
          });
          REQUIRE(same != rounds.end());
          for (std::uint32_t i = part.chunks.first; i < part.chunks.last; ++i) has[part.worker][i] = true;
        }
      }
      for (const std::vector<bool>& all : has) CHECK(all == std::vector<bool>(n, true));
    }
  }
}

TEST_CASE("workers talk when their rounds say so, and only then") {
  for (const Case& c : cases) {
    for (const std::uint32_t n : c.workers) {
      Schedule schedule = schedule_of(c.algorithm, n);
      for (std::uint32_t w = 0; w < n; ++w) {
        for (const Exchange& e : gathering(c.algorithm, n, w)) schedule[w].push_back(e);
      }
      const ArchitectureSpec spec{
          .kind = Architecture::all_reduce, .algorithm = c.algorithm, .micro_batches = {}};
      for (std::uint32_t a = 0; a < n; ++a) {
        for (std::uint32_t b = 0; b < n; ++b) {
          if (a == b) continue;
          bool exchange = false;
          for (const Exchange& e : schedule[a]) {
            exchange = exchange || (e.send && e.send->worker == b) || (e.receive && e.receive->worker == b);
          }
          INFO("algorithm " << int(c.algorithm) << ", N = " << n << ": " << a << ", " << b);
          CHECK(workers_talk(spec, n, a, b) == exchange);
        }
      }
    }
  }
}

TEST_CASE("workers of other ranks talk as their ranks do") {
  const ArchitectureSpec plain{.kind = Architecture::all_reduce, .micro_batches = {}};
  ArchitectureSpec spec = plain;
  spec.ranks = {0, 3, 1, 4, 2};
  for (const AllReduceAlgorithm algorithm :
       {AllReduceAlgorithm::ring, AllReduceAlgorithm::tree, AllReduceAlgorithm::halving_doubling}) {
    spec.algorithm = algorithm;
    ArchitectureSpec by_index = plain;
    by_index.algorithm = algorithm;
    for (std::uint32_t a = 0; a < 5; ++a) {
      for (std::uint32_t b = 0; b < 5; ++b) {
        if (a != b)
          CHECK(workers_talk(spec, 5, a, b) == workers_talk(by_index, 5, spec.ranks[a], spec.ranks[b]));
      }
    }
  }
}

TEST_CASE("workers in a row have ranks whose largest messages go to a neighbour") {
  CHECK(ranks_along(AllReduceAlgorithm::ring, 4) == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(ranks_along(AllReduceAlgorithm::tree, 3) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(ranks_along(AllReduceAlgorithm::halving_doubling, 8) ==
        std::vector<std::uint32_t>{0, 4, 2, 6, 1, 5, 3, 7});
  // Two pairs and two others: a pair stands together.
  CHECK(ranks_along(AllReduceAlgorithm::halving_doubling, 6) == std::vector<std::uint32_t>{0, 1, 4, 2, 3, 5});
  CHECK(ranks_along(AllReduceAlgorithm::halving_doubling, 1) == std::vector<std::uint32_t>{0});
}
