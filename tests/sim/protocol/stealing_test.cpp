// Goal: every sample of a clock counts exactly once, whoever helps whom and whatever gets lost, and no owner
// waits for a helper for ever.
#include "sim/protocol/stealing.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/base/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

std::vector<std::size_t> piece(const std::optional<Stealing::Piece>& p) {
  REQUIRE(p);
  return {p->helper, p->samples.begin, p->samples.count};
}

using Numbers = std::vector<std::size_t>;
using Pieces = std::vector<std::int64_t>;

Stealing worker(std::uint32_t workers, std::uint32_t me, std::int64_t first, bool same_clock = true) {
  return Stealing({.workers = workers, .me = me, .first_piece = first, .same_clock = same_clock});
}

}  // namespace

TEST_CASE("a helper gets a small piece off the end first, then larger ones", "[work]") {
  Stealing me = worker(3, 0, 5);
  me.begin(4, 200);
  CHECK(!me.give(200));  // nobody asks
  CHECK(me.idle(1, 4));
  CHECK(me.idle(2, 4));
  CHECK(piece(me.give(150)) == Numbers{1, 195, 5});
  CHECK(piece(me.give(145)) == Numbers{2, 190, 5});
  CHECK(!me.give(140));
  CHECK(me.idle(2, 4));
  CHECK(piece(me.give(100)) == Numbers{2, 180, 10});
  CHECK(me.own() == 180);
  // No more than a third of what is left for three, and never the sample in hand.
  CHECK(me.idle(1, 4));
  CHECK(piece(me.give(7)) == Numbers{1, 177, 3});
  CHECK(me.idle(1, 4));
  CHECK(piece(me.give(1)) == Numbers{1, 176, 1});
  CHECK(me.idle(1, 4));
  CHECK(!me.give(0));
}

TEST_CASE("one sample always stays", "[work]") {
  Stealing me = worker(2, 0, 1);
  me.begin(0, 1);
  CHECK(me.idle(1, 0));
  CHECK(!me.give(1));
}

TEST_CASE("what is said of the next clock waits for it, what is said of the last one is forgotten",
          "[work]") {
  Stealing me = worker(2, 1, 1);
  me.begin(0, 10);
  CHECK_FALSE(me.idle(0, 1));
  CHECK(!me.give(10));
  me.begin(1, 10);
  CHECK(piece(me.give(10)) == Numbers{0, 9, 1});
  CHECK_FALSE(me.idle(0, 0));
  CHECK(!me.give(8));
}

TEST_CASE("where workers are in several clocks only those that are ahead help", "[work]") {
  Stealing me = worker(3, 0, 2, false);
  me.begin(5, 20);
  CHECK_FALSE(me.idle(1, 5));  // not ahead
  CHECK_FALSE(me.idle(2, 4));
  CHECK(!me.give(20));
  CHECK(me.idle(1, 6));
  CHECK(piece(me.give(20)) == Numbers{1, 18, 2});
  CHECK(me.idle(1, 6));
  me.finish();
  CHECK(!me.give(10));
  me.begin(6, 20);  // caught up: what it was asked then is of no use
  CHECK(!me.give(20));
  CHECK(me.idle(1, 8));
  me.finish();
  me.begin(7, 20);
  CHECK(piece(me.give(20)) == Numbers{1, 18, 2});
}

TEST_CASE("an owner takes back what a helper does not return, and ignores what comes later", "[work]") {
  Stealing me = worker(3, 0, 2);
  me.begin(0, 20);
  CHECK(me.idle(1, 0));
  CHECK(me.idle(2, 0));
  CHECK(piece(me.give(19)) == Numbers{1, 18, 2});
  CHECK(piece(me.give(17)) == Numbers{2, 16, 2});
  me.finish();
  CHECK(me.is_waiting());
  CHECK_FALSE(me.returned(2, Pieces{0}));  // another has that one
  CHECK(me.returned(1, Pieces{0}));
  CHECK_FALSE(me.returned(1, Pieces{0}));  // it came twice
  const std::vector<Range> back = me.take_back(2);
  REQUIRE(back.size() == 1);
  CHECK(back[0].begin == 16);
  CHECK(back[0].count == 2);
  CHECK_FALSE(me.is_waiting());
  CHECK_FALSE(me.returned(2, Pieces{1}));
}

TEST_CASE("a worker that leaves gets no pieces, also if it had asked before", "[work]") {
  Stealing me = worker(2, 0, 1, false);
  me.begin(0, 10);
  CHECK(me.idle(1, 3));
  me.leaves(1, 3);
  CHECK(!me.give(9));
  CHECK_FALSE(me.idle(1, 2));  // overtaken by its last words
  CHECK(!me.give(9));
}

TEST_CASE("a helper returns pieces when their owner has finished the clock", "[work]") {
  Stealing me = worker(2, 0, 1);
  me.begin(3, 10);
  me.computed(1, 3, 7);
  me.computed(1, 3, 8);
  CHECK(me.take_due(1).empty());
  me.idle(1, 3);
  CHECK(me.take_due(1) == Pieces{7, 8});
  CHECK(me.take_due(1).empty());
  me.computed(1, 3, 9);
  me.computed(1, 4, 10);  // the owner is in its next clock
  CHECK(me.take_due(1).empty());
  me.idle(1, 4);
  CHECK(me.take_due(1) == Pieces{10});
}

namespace {

std::int64_t samples_of(const std::vector<Range>& ranges) {
  std::int64_t samples = 0;
  for (const Range& range : ranges) samples += static_cast<std::int64_t>(range.count);
  return samples;
}

std::size_t pick_of(Stream& stream, std::size_t n) {
  return static_cast<std::size_t>(stream.uniform() * static_cast<double>(n));
}

struct Word {
  enum class Kind { idle, piece, gradient } kind;
  std::uint32_t from, to;
  std::int64_t number = 0, samples = 0;
  Pieces pieces = {};
};

}  // namespace

TEST_CASE("in any order of events, whatever is lost or doubled, every sample counts once", "[work]") {
  constexpr std::uint32_t workers = 4;
  std::int64_t batch = 40, stolen = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    Stream stream(seed, "test");
    std::vector<Stealing> all;
    std::vector<std::int64_t> left(workers, batch), by_others(workers, 0);
    std::vector<bool> through(workers, false);
    std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> sizes;  // of pieces, by owner and number
    std::vector<Word> on_the_way;
    for (std::uint32_t w = 0; w < workers; ++w) {
      all.push_back(worker(workers, w, 2));
      all[w].begin(0, batch);
    }
    const auto pick = [&](std::size_t n) { return pick_of(stream, n); };
    const auto send_back = [&](std::uint32_t helper, std::uint32_t owner) {
      const Pieces due = all[helper].take_due(owner);
      if (!due.empty()) on_the_way.push_back({Word::Kind::gradient, helper, owner, 0, 0, due});
    };
    const auto hear = [&](const Word& word) {
      Stealing& me = all[word.to];
      if (word.kind == Word::Kind::idle) {
        me.idle(word.from, 0);
        send_back(word.to, word.from);
      } else if (word.kind == Word::Kind::piece) {
        me.computed(word.from, 0, word.number);
        if (me.has_finished(word.from, 0)) send_back(word.to, word.from);
        else on_the_way.push_back({Word::Kind::idle, word.to, word.from});
      } else if (me.returned(word.from, word.pieces)) {
        for (const std::int64_t number : word.pieces) by_others[word.to] += sizes.at({word.to, number});
      }
    };
    for (int events = 0; events < 3000; ++events) {
      const auto w = static_cast<std::uint32_t>(pick(workers));
      if (!through[w]) {  // gives, then computes one of its own
        while (const auto p = all[w].give(left[w] - 1)) {
          left[w] -= static_cast<std::int64_t>(p->samples.count);
          sizes[{w, p->number}] = static_cast<std::int64_t>(p->samples.count);
          on_the_way.push_back({Word::Kind::piece, w, p->helper, p->number});
        }
        through[w] = --left[w] == 0;
        if (through[w]) all[w].finish();
        for (std::uint32_t v = 0; through[w] && v < workers; ++v) {
          if (v != w) on_the_way.push_back({Word::Kind::idle, w, v});
        }
      }
      if (on_the_way.empty() || stream.uniform() < 0.5) continue;
      const std::size_t i = pick(on_the_way.size());
      const Word word = on_the_way[i];
      if (stream.uniform() < 0.9) on_the_way.erase(on_the_way.begin() + static_cast<std::ptrdiff_t>(i));
      if (stream.uniform() < 0.9) hear(word);
    }
    for (std::uint32_t w = 0; w < workers; ++w) {
      REQUIRE(through[w]);
      CHECK(all[w].own() + by_others[w] + samples_of(all[w].take_back({})) == batch);
      stolen += by_others[w];
    }
  }
  CHECK(stolen > 1000);
}

TEST_CASE("a helper that has left shares nothing", "[work]") {
  Stealing me = worker(3, 0, 5);
  me.begin(4, 200);
  for (const std::uint32_t helper : {1U, 2U}) CHECK(me.idle(helper, 4));
  me.leaves(2, 4);
  CHECK(piece(me.give(7)) == Numbers{1, 196, 4});  // half of what is left, not a third
}
