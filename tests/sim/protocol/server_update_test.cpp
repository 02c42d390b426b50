// Goal: an update moves the weights by what the consistency model and the aggregation say, and never under
// the eyes of somebody who reads them. Method: gradients small enough to add up by hand.

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// One weight that starts at 0, moved at a rate of 1: its value is minus what was applied.
double moved(const Driver& d) { return -d.weights()[0]; }

Driver::Setup one_weight() { return {.weights = {0}, .learning_rate = {.base = 1}}; }

}  // namespace

TEST_CASE("where late pushes are dropped, an update is the mean of its group", "[protocol]") {
  struct Case {
    ConsistencyModel model;
    double mean, sum;
  };
  // Four workers push 1, 2, 4, 8 in this order; k is 2 and the last two are late.
  for (const Case& c : {Case{"bsp", 3.75, 15}, Case{"k-sync", 1.5, 3}, Case{"k-batch-sync", 1.5, 3}}) {
    for (const char* aggregation : {"mean", "sum"}) {
      Driver d({.model = c.model, .k = 2, .late = Late::drop, .aggregation = {aggregation}}, 4, one_weight());
      CAPTURE(c.model->name);
      d.pull_all();
      for (const std::uint32_t w : {0U, 1U, 2U, 3U}) d.push(w, {static_cast<double>(1U << w)});
      CHECK(moved(d) == (aggregation == std::string_view("mean") ? c.mean : c.sum));
      CHECK(d.server.version() == 1);
    }
  }
}

TEST_CASE("where late pushes count, every push moves the weights by its share of the clock", "[protocol]") {
  for (const ConsistencyModel model : {"ssp", "asp", "k-async", "k-batch-async", "dssp"}) {
    for (const char* aggregation : {"mean", "sum"}) {
      const double share = aggregation == std::string_view("mean") ? 0.25 : 1;
      Driver d({.model = model, .k = 2, .aggregation = {aggregation}}, 4, one_weight());
      CAPTURE(model->name);
      d.pull_all();
      d.push(0, {1});
      CHECK(moved(d) == (d.rule.group == 1 ? share : 0));
      d.push(1, {2});
      CHECK(moved(d) == 3 * share);
      d.push(2, {4});
      d.push(3, {8});
      CHECK(moved(d) == 15 * share);  // with `mean`: the same as one clock of bsp
    }
  }
}

TEST_CASE("sums run in worker order, whatever the order of arrival", "[protocol]") {
  // 1e16 + 1 - 1e16 is 0 in this order and 1 or 2 in others.
  std::vector<std::uint32_t> order{0, 1, 2};
  const Numbers gradients{1e16, 1, -1e16};
  do {
    Driver d({.model = "bsp", .aggregation = {"sum"}}, 3, one_weight());
    d.pull_all();
    for (const std::uint32_t w : order) d.push(w, {gradients[w]});
    CHECK(moved(d) == 0);
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("two pushes of one worker are added in the order in which they were made", "[protocol]") {
  Driver d({.model = "k-batch-sync", .k = 3, .aggregation = {"sum"}}, 2, one_weight());
  d.pull_all();
  const Message first = d.push_of(1, {1}), second = d.push_of(1, {-1e16});
  d.deliver(second);
  d.deliver(first);
  d.push(0, {1e16});
  CHECK(moved(d) == 0);  // 1e16 + 1 - 1e16
}

TEST_CASE("staleness-aware updates divide a gradient by its staleness", "[protocol]") {
  Driver::Setup setup = one_weight();
  setup.stale.function = "inverse";
  Driver d({.model = "asp", .aggregation = {"sum"}}, 5, setup);
  d.pull_all();
  double before = 0;
  for (const auto& [worker, staleness, factor] :
       {std::tuple{0U, 0, 1.0}, {1U, 1, 1.0}, {2U, 2, 0.5}, {3U, 3, 1 / 3.0}, {4U, 4, 0.25}}) {
    CHECK(d.push(worker, {6}).front() == fmt::format("apply w{} s{}", worker, staleness));
    CHECK(moved(d) - before == Approx(6 * factor));
    before = moved(d);
  }
}

TEST_CASE("staleness does not count unless it is asked for", "[protocol]") {
  Driver d({.model = "asp", .aggregation = {"sum"}}, 5, one_weight());
  d.pull_all();
  for (std::uint32_t w = 0; w < 5; ++w) d.push(w, {6});
  CHECK(moved(d) == 30);
}

TEST_CASE("the learning rate falls with the clocks that are done, under every kind of update", "[protocol]") {
  // Half an epoch a clock, a tenth of the rate every epoch, two workers.
  Driver::Setup setup{.weights = {0},
                      .learning_rate = {.base = 1, .schedule = RateSchedule::step},
                      .epochs = {.per_clock = 0.5}};
  {
    Driver d({.model = "bsp"}, 2, setup);
    d.pull_all();
    for (const double expected : {1.0, 2.0, 2.1, 2.2, 2.21}) {
      d.push(0, {1});
      d.turn(1, {1});
      d.pull(0);
      CHECK(moved(d) == Approx(expected));
    }
  }
  Driver d({.model = "asp"}, 2, setup);
  d.pull_all();
  for (const double expected : {0.5, 1.0, 1.5, 2.0, 2.05, 2.1, 2.15, 2.2, 2.205}) {
    d.turn(0, {1});
    CHECK(moved(d) == Approx(expected));
  }
}

TEST_CASE("the learning rate falls with the epochs of a first clock that has more batches", "[protocol]") {
  // The first clock is an epoch and a half, every other one half of one.
  Driver d({.model = "bsp"}, 2,
           {.weights = {0},
            .learning_rate = {.base = 1, .schedule = RateSchedule::step},
            .epochs = {.per_clock = 0.5, .first_more = 1}});
  d.pull_all();
  for (const double expected : {1.0, 1.1, 1.11, 1.12, 1.121}) {
    d.push(0, {1});
    d.turn(1, {1});
    d.pull(0);
    CHECK(moved(d) == Approx(expected));
  }
}

TEST_CASE("weights on their way do not change", "[protocol]") {
  Driver d({.model = "asp"}, 1, {.weights = {1, 2, 3}, .learning_rate = {.base = 1}});
  d.pull(0);
  Slice answer = last_answer(d.log.sent).weights.values;
  CHECK(numbers_of(answer) == Numbers{1, 2, 3});
  d.push(0, {1, 1, 1});
  CHECK(numbers_of(answer) == Numbers{1, 2, 3});
  CHECK(d.weights() == Numbers{0, 1, 2});
  // Nobody holds the new array but the server: the next update is made in place.
  const auto* before = d.server.state().snapshot().values.get();
  d.push(0, {1, 1, 1});
  CHECK(d.server.state().snapshot().values.get() == before);
  CHECK(d.weights() == Numbers{-1, 0, 1});
  CHECK(answer.values.get() != before);
}

TEST_CASE("all workers that pull one version share one array", "[protocol]") {
  Driver d({.model = "bsp"}, 2, {.weights = {1}});
  d.pull_all();
  REQUIRE(d.log.sent.size() == 2);
  const auto array = [&](std::size_t i) {
    return std::get<Answer>(d.log.sent[i].body).weights.values.values.get();
  };
  CHECK(array(0) == array(1));
  CHECK(array(0) == d.server.state().snapshot().values.get());
}

TEST_CASE("a server's optimizer keeps its state from update to update", "[protocol]") {
  Driver d({.model = "asp"}, 1,
           {.weights = {0},
            .optimizer = {.kind = "momentum", .settings = {{"momentum", 0.5}}},
            .learning_rate = {.base = 1}});
  d.pull(0);
  for (const double expected : {1.0, 2.5, 4.25}) {
    d.turn(0, {1});
    CHECK(moved(d) == expected);
  }
}

TEST_CASE("a phantom server counts versions without numbers", "[protocol]") {
  Driver d({.model = "asp"}, 1);
  d.pull(0);
  d.turn(0);
  CHECK(d.server.version() == 1);
  CHECK(d.server.state().snapshot().values == nullptr);
  CHECK(d.server.state().snapshot().count == 4);
}
