// Goal: every sample of a clock is computed exactly once, whoever helps whom, and everybody finds out when it
// is over.
#include "sim/protocol/stealing.hpp"

#include <algorithm>
#include <vector>

#include "model/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

std::vector<std::size_t> piece(const std::optional<Stealing::Piece>& p) {
  REQUIRE(p);
  return {p->helper, p->samples.begin, p->samples.count};
}

using Numbers = std::vector<std::size_t>;

}  // namespace

TEST_CASE("a helper gets a small piece off the end first, then larger ones", "[work]") {
  Stealing me(3, 0, 200, 0.025);
  me.begin(4);
  CHECK(!me.give(200));  // nobody asks
  CHECK(me.idle(1, 4, 0));
  CHECK(me.idle(2, 4, 0));
  CHECK(piece(me.give(150)) == Numbers{1, 195, 5});
  CHECK(piece(me.give(145)) == Numbers{2, 190, 5});
  CHECK(!me.give(140));
  CHECK(me.idle(2, 4, 0));
  CHECK(piece(me.give(100)) == Numbers{2, 180, 10});
  CHECK(me.own() == 180);
  CHECK(me.given_to(1) == 1);
  CHECK(me.given_to(2) == 2);
  // No more than a third of what is left for three, and never the sample in hand.
  CHECK(me.idle(1, 4, 0));
  CHECK(piece(me.give(7)) == Numbers{1, 177, 3});
  CHECK(me.idle(1, 4, 0));
  CHECK(piece(me.give(1)) == Numbers{1, 176, 1});
  CHECK(me.idle(1, 4, 0));
  CHECK(!me.give(0));
}

TEST_CASE("one sample always stays", "[work]") {
  Stealing me(2, 0, 1, 1.0);
  me.begin(0);
  CHECK(me.idle(1, 0, 0));
  CHECK(!me.give(1));
}

TEST_CASE("what is said of the next clock waits for it, what is said of the last one is forgotten",
          "[work]") {
  Stealing me(2, 1, 10, 0.1);
  me.begin(0);
  CHECK_FALSE(me.idle(0, 1, 0));
  CHECK(!me.give(10));
  CHECK_FALSE(me.is_idle(0));
  me.begin(1);
  CHECK(me.is_idle(0));
  CHECK(piece(me.give(10)) == Numbers{0, 9, 1});
  CHECK_FALSE(me.idle(0, 0, 3));
  me.finish();
  CHECK(me.is_over());
}

TEST_CASE("a clock is over when all are through and what they gave is computed", "[work]") {
  Stealing me(3, 2, 10, 0.1);
  me.begin(0);
  CHECK_FALSE(me.is_over());
  me.finish();
  me.idle(0, 0, 0);
  CHECK_FALSE(me.is_over());
  me.idle(1, 0, 2);  // its pieces may come later than its word
  CHECK_FALSE(me.is_over());
  me.computed(1);
  CHECK_FALSE(me.is_over());
  me.computed(1);
  CHECK(me.is_over());
}

namespace {

struct Word {
  std::uint32_t from, to;
  std::int64_t samples;  // of a piece; 0: idle
  std::int64_t pieces;
};

}  // namespace

TEST_CASE("in any order of events every sample is computed once, and all workers learn of the end",
          "[work]") {
  constexpr std::uint32_t workers = 4;
  constexpr std::int64_t batch = 40;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    Stream stream(seed, "test");
    std::vector<Stealing> all;
    std::vector<std::int64_t> left(workers, batch), done(workers, 0);
    std::vector<bool> through(workers, false);
    std::vector<Word> on_the_way;
    for (std::uint32_t w = 0; w < workers; ++w) {
      all.emplace_back(workers, w, batch, 0.05);
      all[w].begin(0);
    }
    const auto pick = [&](std::size_t n) {
      return static_cast<std::size_t>(stream.uniform() * static_cast<double>(n));
    };
    const auto tell = [&](std::uint32_t from, std::uint32_t to) {
      on_the_way.push_back({from, to, 0, all[from].given_to(to)});
    };
    const auto over = [&] { return std::ranges::all_of(all, &Stealing::is_over); };
    for (int events = 0; !over() && events < 100'000; ++events) {
      const auto w = static_cast<std::uint32_t>(pick(workers));
      if (!through[w]) {  // gives, then computes one of its own
        while (const auto p = all[w].give(left[w] - 1)) {
          left[w] -= static_cast<std::int64_t>(p->samples.count);
          on_the_way.push_back({w, p->helper, static_cast<std::int64_t>(p->samples.count), 0});
        }
        --left[w];
        ++done[w];
        through[w] = left[w] == 0;
        if (through[w]) all[w].finish();
        for (std::uint32_t v = 0; through[w] && v < workers; ++v) {
          if (v != w) tell(w, v);
        }
      }
      if (on_the_way.empty() || stream.uniform() < 0.5) continue;
      const std::size_t i = pick(on_the_way.size());
      const Word word = on_the_way[i];
      on_the_way.erase(on_the_way.begin() + static_cast<std::ptrdiff_t>(i));
      if (word.samples == 0) {
        all[word.to].idle(word.from, 0, word.pieces);
        continue;
      }
      done[word.to] += word.samples;
      all[word.to].computed(word.from);
      if (!all[word.to].is_idle(word.from)) tell(word.to, word.from);
    }
    CHECK(over());
    std::int64_t sum = 0;
    for (const std::int64_t n : done) sum += n;
    CHECK(sum == workers * batch);
  }
}
