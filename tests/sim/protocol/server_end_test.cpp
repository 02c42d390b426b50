// Goal: training ends for everybody, with every push accounted for. Method: the last clocks by hand, then
// whole trainings in which a random order of arrival takes the part of the network.
#include <algorithm>
#include <set>

#include "model/base/random.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

TEST_CASE("where late pushes are dropped, training ends with the version that was asked for", "[protocol]") {
  Driver d({.model = "k-sync", .k = 2, .late = Late::drop}, 3, {.steps = 2});
  d.pull_all();
  d.turn(0);
  d.turn(1);
  d.turn(0);
  CHECK(d.turn(1) == Lines{"apply w0 s0", "apply w1 s0", "version 2", "finished w0", "finished w1"});
  CHECK(d.push(2) == Lines{"drop w2"});
  CHECK(d.pull(2) == Lines{"finished w2"});
}

TEST_CASE("where late pushes count, a worker is finished after its own last clock", "[protocol]") {
  Driver d({.model = "asp"}, 2, {.steps = 2});
  d.pull_all();
  d.turn(0);
  CHECK(d.turn(0) == Lines{"apply w0 s0", "version 2", "finished w0"});
  CHECK(d.turn(1) == Lines{"apply w1 s2", "version 3", "weights w1 v3"});
  CHECK(d.turn(1) == Lines{"apply w1 s0", "version 4", "finished w1"});
}

TEST_CASE("a worker that runs out of clocks does not wait for the slow ones", "[protocol]") {
  Driver d({.model = "ssp", .staleness = 2}, 2, {.steps = 2});
  d.pull_all();
  d.turn(0);
  CHECK(d.turn(0) == Lines{"apply w0 s0", "version 2", "finished w0"});
  CHECK(d.turn(1) == Lines{"apply w1 s2", "version 3", "weights w1 v3"});
}

TEST_CASE("the last incomplete group is applied when nobody can complete it", "[protocol]") {
  const auto model = GENERATE("k-async", "k-batch-async");
  Driver d({.model = model, .k = 2}, 3, {.steps = 1, .weights = {0}, .learning_rate = {.base = 1}});
  d.pull_all();
  CHECK(d.turn(0, {1}) == Lines{"finished w0"});
  CHECK(d.turn(1, {2}) == Lines{"apply w0 s0", "apply w1 s0", "version 1", "finished w1"});
  CHECK(d.turn(2, {6}) == Lines{"apply w2 s1", "version 2", "finished w2"});
  CHECK(d.server.pending().empty());
  CHECK(d.weights() == Numbers{-9.0 / 3});
}

TEST_CASE("pushes that wait for their group are applied when the last worker finishes without one",
          "[protocol]") {
  Driver d({.model = "k-batch-async", .k = 2}, 2, {.steps = 2, .weights = {0}, .learning_rate = {.base = 1}});
  d.pull_all();
  d.turn(0, {1});
  const Message last = d.push_of(0, {2});
  CHECK(d.pull(0) == Lines{});
  CHECK(d.turn(1, {4}) == Lines{"apply w0 s0", "apply w1 s0", "version 1", "weights w1 v1"});
  const Lines lines = d.turn(1, {8});
  CHECK(lines.back() == "finished w1");
  d.deliver(last);
  CHECK(d.log.lines.back() == "finished w0");
  CHECK(d.server.pending().empty());
  CHECK(d.weights() == Numbers{-15.0 / 2});
}

TEST_CASE("a finished worker that asks again is told again, and counts once", "[protocol]") {
  Driver d({.model = "k-batch-async", .k = 2}, 3, {.steps = 1});
  d.pull_all();
  CHECK(d.turn(0) == Lines{"finished w0"});
  CHECK(d.pull(0) == Lines{"finished w0"});
  CHECK(d.pull(0) == Lines{"finished w0"});
  CHECK(d.server.pending().size() == 1);  // two workers are left to complete the group
}

TEST_CASE("a pull that overtakes the last push ends nothing before the push is in", "[protocol]") {
  Driver d({.model = "k-async", .k = 2}, 2, {.steps = 1});
  d.pull_all();
  const Message last = d.push_of(0);
  CHECK(d.pull(0) == Lines{});
  CHECK(d.push(1) == Lines{});  // two workers may still push: one push is no group
  CHECK(d.deliver(last) == Lines{"apply w0 s0", "apply w1 s0", "version 1", "finished w0"});
  CHECK(d.pull(1) == Lines{"finished w1"});
}

namespace {

// Plays a whole training: workers take turns in a random order, messages arrive in a random order, and at
// every answer the promises of the model are checked.
class Play {
 public:
  Play(const ConsistencySpec& spec, std::int64_t workers, std::int64_t steps, std::uint64_t seed)
      : spec_(spec),
        steps_(steps),
        d_(spec, workers, {.steps = steps}),
        stream_(seed, "server_end_test"),
        workers_(static_cast<std::size_t>(workers)),
        ends_(workers_),
        held_(workers_, -1) {
    for (std::uint32_t w = 0; w < workers_; ++w) travelling_.push_back(d_.pull_of(w));
  }

  void run() {
    for (int guard = 0; guard < 100'000; ++guard) {
      const std::size_t choices = travelling_.size() + computing_.size();
      if (choices == 0) break;
      const std::size_t choice = stream_.below(choices);
      d_.now += stream_.exponential();
      if (choice < travelling_.size()) arrive(choice);
      else finish_computing(choice - travelling_.size());
    }
    check_end();
  }

 private:
  void arrive(std::size_t i) {
    const Message message = travelling_[i];
    travelling_.erase(travelling_.begin() + static_cast<std::ptrdiff_t>(i));
    if (message.is<Push>()) ++arrived_;
    const std::size_t already = d_.log.sent.size();
    d_.deliver(message);
    for (std::size_t m = already; m < d_.log.sent.size(); ++m) take(d_.log.sent[m]);
  }

  void take(const Message& message) {
    const std::uint32_t w = message.to - first_worker;
    const Answer& answer = std::get<Answer>(message.body);
    if (answer.finished) {
      ends_[w] = true;
      return;
    }
    if (d_.rule.gate == Gate::version) REQUIRE(answer.version > held_[w]);
    if (d_.rule.gate == Gate::own) REQUIRE(applied(w) == pushed_[w]);
    if (d_.rule.gate == Gate::staleness) {
      std::int64_t slowest = steps_;
      for (std::uint32_t other = 0; other < workers_; ++other) slowest = std::min(slowest, applied(other));
      const std::int64_t bound = spec_.model == "dssp" ? spec_.staleness_max : spec_.staleness;
      REQUIRE(answer.clock - slowest <= bound);
    }
    held_[w] = answer.version;
    computing_.push_back(w);
  }

  void finish_computing(std::size_t i) {
    const std::uint32_t w = computing_[i];
    computing_.erase(computing_.begin() + static_cast<std::ptrdiff_t>(i));
    ++pushed_[w];
    travelling_.push_back(d_.push_of(w));
    travelling_.push_back(d_.pull_of(w));
  }

  void check_end() const {
    CHECK(std::ranges::count(ends_, true) == static_cast<std::ptrdiff_t>(workers_));
    CHECK(d_.log.applied_count + d_.log.dropped_count == arrived_);
    CHECK(d_.arrived() == arrived_);
    CHECK(d_.server.pending().empty());
    CHECK(d_.server.waiting().empty());
    if (d_.rule.drops_stale) {
      CHECK(d_.server.version() == steps_);
      CHECK(d_.log.applied_count == steps_ * d_.rule.group);
    } else {
      CHECK(d_.log.dropped_count == 0);
      CHECK(d_.log.applied_count == steps_ * static_cast<std::int64_t>(workers_));
    }
  }

  std::int64_t applied(std::uint32_t w) const {
    return w < d_.log.applied_of.size() ? d_.log.applied_of[w] : 0;
  }

  ConsistencySpec spec_;
  std::int64_t steps_;
  Driver d_;
  Stream stream_;
  std::size_t workers_;
  std::vector<bool> ends_;
  std::vector<std::int64_t> held_, pushed_ = std::vector<std::int64_t>(workers_);
  std::vector<Message> travelling_;
  std::vector<std::uint32_t> computing_;
  std::int64_t arrived_ = 0;
};

}  // namespace

TEST_CASE("whatever the order of arrival, everybody finishes and every push is used or dropped",
          "[protocol]") {
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) {
    if (row.group == Group::own) continue;  // of other tests
    for (const std::int64_t workers : {1, 2, 5}) {
      for (std::int64_t k = 1; k <= workers; ++k) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
          const ConsistencySpec spec{
              .model = row.name, .staleness = 1, .staleness_max = 3, .k = k, .late = Late::drop};
          CAPTURE(row.name, workers, k, seed);
          Play(spec, workers, 7, seed).run();
        }
      }
    }
  }
}
