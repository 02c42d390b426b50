#include "sim/protocol/all_reduce.hpp"

#include <map>
#include <tuple>
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
Outcome reduce(const Schedule& schedule, std::size_t size) {
  const auto n = static_cast<std::uint32_t>(schedule.size());
  Outcome outcome{.values = {}, .sent = std::vector<std::size_t>(n)};
  for (std::uint32_t w = 0; w < n; ++w) {
    outcome.values.emplace_back();
    for (std::size_t i = 0; i < size; ++i)
      outcome.values[w].push_back(static_cast<std::int64_t>(1000 * i + (std::size_t{1} << w)));
  }
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // from, to, round
  std::map<Key, std::vector<std::int64_t>> mail;
  for (std::int64_t round = 0; round < 2 * n; ++round) {
    for (const bool sending : {true, false}) {
      for (std::uint32_t w = 0; w < n; ++w) {
        for (const Exchange& e : schedule[w]) {
          if (e.round != round) continue;
          auto& mine = outcome.values[w];
          if (sending && e.send) {
            const Range r = range_of(e.send->chunks, size, n);
            const auto begin = mine.begin() + static_cast<std::ptrdiff_t>(r.begin);
            mail[{w, e.send->worker, round}] = {begin, begin + static_cast<std::ptrdiff_t>(r.count)};
            outcome.sent[w] += r.count;
          } else if (!sending && e.receive) {
            const Range r = range_of(e.receive->chunks, size, n);
            const auto part = mail.extract({e.receive->worker, w, round});
            REQUIRE(!part.empty());
            REQUIRE(part.mapped().size() == r.count);
            for (std::size_t i = 0; i < r.count; ++i)
              mine[r.begin + i] = part.mapped()[i] + (e.add ? mine[r.begin + i] : 0);
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
    {AllReduceAlgorithm::halving_doubling, {1, 2, 4, 8, 16}},
};

}  // namespace

TEST_CASE("after an all-reduce every worker has the sum") {
  for (const Case& c : cases) {
    for (const std::uint32_t n : c.workers) {
      for (const std::size_t size : {std::size_t{1}, std::size_t{16}, std::size_t{37}}) {
        INFO("algorithm " << int(c.algorithm) << ", N = " << n << ", " << size << " values");
        const Outcome outcome = reduce(schedule_of(c.algorithm, n), size);
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
    for (const std::size_t sent : reduce(schedule_of(algorithm, 8), 80).sent) CHECK(sent == 2 * 7 * 10);
  }
}

TEST_CASE("a tree sends 2 (N - 1) models, over at most 2 log2 N rounds of one worker") {
  std::size_t sent = 0;
  const Schedule schedule = schedule_of(AllReduceAlgorithm::tree, 16);
  for (const std::size_t values : reduce(schedule, 10).sent) sent += values;
  CHECK(sent == 2 * 15 * 10);
  CHECK(schedule[0].size() == 8);   // the root
  CHECK(schedule[15].size() == 2);  // a leaf
}

TEST_CASE("workers talk when their rounds say so, and only then") {
  for (const Case& c : cases) {
    for (const std::uint32_t n : c.workers) {
      const Schedule schedule = schedule_of(c.algorithm, n);
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
