// Goal: each event is recorded with the event that it comes of, and what else it needed. Method: courses by
// hand, and a recorder whose events and dependencies are collected. Node 0 is the scheduler, 1 a server, 2
// and 3 workers.
#include "sim/record/event.hpp"

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/record/event_fields.hpp"
#include "sim/record/recorder.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

struct Collector final : EventSink {
  void on(const Event& event, std::uint64_t) override { causes.push_back(event.cause); }
  void on_dependency(std::uint64_t event, const Dependency& need) override {
    needs.emplace_back(static_cast<std::int64_t>(event), need.event.value_or(-1), need.clock.value_or(-1));
  }
  std::vector<Cause> causes;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> needs;  // event, needed, clock
};

struct Book {
  Book() { recorder.add_sink(&collector); }
  // Returns its number.
  std::int64_t add(double at, NodeId node, Subject what, const std::optional<Cause>& cause = {}) {
    return static_cast<std::int64_t>(recorder.record({at, node, std::move(what)}, cause));
  }
  Cause last() const { return collector.causes.back(); }

  Recorder recorder{1, 2, {0}};
  Collector collector;
};

Subject fault(std::string_view kind, bool begins, NodeId target, std::int64_t table = 0) {
  return FaultChange{
      .fault_table = table, .kind = *value_of(FaultKind{}, kind), .begins = begins, .target = target};
}

}  // namespace

TEST_CASE("what an actor takes is its cause, unless it was at something when that came", "[record][why]") {
  CauseChain chain;
  chain.goes_on(1, {.event = 10});
  chain.takes(2, {.event = 11});
  CHECK(chain.cause() == Cause{11, Spent::idle});
  chain.spends(5, Spent::service);
  CHECK(chain.cause() == Cause{11, Spent::service});
  chain.takes(4, {.event = 12});  // it came during the work
  CHECK(chain.cause() == Cause{11, Spent::service});
  chain.takes(5, {.event = 13});
  CHECK(chain.cause() == Cause{13, Spent::idle});
  chain.did(6, 20);
  chain.takes(6, {.event = 18});  // an actor that does nothing waits for nothing else
  CHECK(chain.cause() == Cause{18, Spent::idle});
  chain.did(6, 20);
  chain.works_from(6);
  chain.takes(6, {.event = 19});  // it came at this date, but before the work
  CHECK(chain.cause() == Cause{20, Spent::idle});
  chain.takes(6, {.event = 21});
  CHECK(chain.cause() == Cause{21, Spent::idle});
  chain.takes(9, {});  // of nothing that is known
  CHECK(chain.cause() == Cause{21, Spent::idle});
}

TEST_CASE("what an actor was at before it took something is needed too, each once", "[record][why]") {
  CauseChain chain;
  chain.did(1, 10);
  chain.takes(2, {.event = 11});
  chain.needs(11);
  chain.takes(3, {.event = 12});  // nobody has said that it is needed
  std::vector<std::int64_t> needed;
  for (const Dependency& one : chain.take_needs()) needed.push_back(*one.event);
  CHECK(needed == std::vector<std::int64_t>{10, 11});
  CHECK(chain.take_needs().empty());
}

TEST_CASE("an actor goes on from what it does, and not from what it says", "[record][why]") {
  Book book;
  const std::int64_t begun = book.add(1, 2, Computation{.phase = ComputePhase::begun, .clock = 0});
  book.recorder.causes().spends(3, Spent::compute);
  const std::int64_t ended = book.add(3, 2, Computation{.phase = ComputePhase::ended, .clock = 0});
  CHECK(book.last() == Cause{begun, Spent::compute});
  for (int shard = 0; shard < 2; ++shard) {
    book.add(3, 2, Sent{});
    CHECK(book.last() == Cause{ended, Spent::idle});
  }
}

TEST_CASE("the first event after it has what was needed, but not its cause a second time", "[record][why]") {
  Book book;
  const std::int64_t a = book.add(1, 2, Finish{}), b = book.add(2, 2, Finish{});
  book.recorder.causes().needs(a);
  book.recorder.causes().needs(b);
  book.recorder.record({3, 2, Finish{}}, {}, {{.event = {}, .clock = 7}});
  book.add(4, 2, Finish{});
  CHECK(book.collector.needs == decltype(book.collector.needs){{2, a, -1}, {2, -1, 7}});
}

TEST_CASE("what an actor says next needs what it said first, which needs the rest", "[record][why]") {
  Book book;
  const std::int64_t a = book.add(1, 2, Finish{}), b = book.add(2, 2, Finish{});
  book.recorder.causes().needs(a);
  const std::int64_t first = book.add(2, 2, Sent{});
  book.recorder.record({2, 2, Sent{}}, {}, {{.event = a}});  // of its own, and of no other event
  book.add(2, 2, Recount{.worker = 2});                      // tells more of the same
  book.add(2, 2, Finish{});
  CHECK(book.collector.needs ==
        decltype(book.collector.needs){
            {first, a, -1}, {first + 1, first, -1}, {first + 1, a, -1}, {first + 3, first + 1, -1}});
  CHECK(book.last() == Cause{b, Spent::idle});
}

TEST_CASE("what ends a fault, and whoever comes back, comes of the fault", "[record][why]") {
  Book book;
  const std::int64_t slow = book.add(1, 0, fault("slow", true, 2, 0));
  const std::int64_t crash = book.add(2, 0, fault("crash", true, 2, 1));
  book.add(5, 0, fault("slow", false, 2, 0));
  CHECK(book.last() == Cause{slow, Spent::down});
  book.add(6, 0, fault("restart", true, 2, 2));
  CHECK(book.last() == Cause{crash, Spent::down});
  book.add(7, 0, fault("restart", true, 2, 3));  // it is there
  CHECK(book.last().spent == Spent::idle);
}

TEST_CASE("a fault ends what its node was at", "[record][why]") {
  Book book;
  const std::int64_t begun = book.add(1, 2, Computation{.phase = ComputePhase::begun});
  book.add(2, 2, Sent{});  // beside its computing
  book.add(3, 0, fault("crash", true, 2));
  CHECK(book.last() == Cause{begun, Spent::compute});
  const std::int64_t joined = book.add(4, 3, Sent{});
  Sent heartbeat;
  heartbeat.kind = MessageKind::heartbeat;
  book.add(5, 3, heartbeat);
  book.add(6, 0, fault("crash", true, 3));
  CHECK(book.last() == Cause{joined, Spent::idle});
}

TEST_CASE("nobody hears of a node since it crashed, unless it was heard later", "[record][why]") {
  Book book;
  const std::int64_t crash = book.add(2, 0, fault("crash", true, 2));
  const std::int64_t heard = book.add(3, 0, Received{});
  book.add(9, 0, Suspicion{.suspect = 2}, Cause{-1, Spent::timeout});
  CHECK(book.last() == Cause{crash, Spent::timeout});
  book.add(9, 0, Suspicion{.suspect = 2}, Cause{heard, Spent::timeout});
  CHECK(book.last() == Cause{heard, Spent::timeout});
  book.add(9, 0, Suspicion{.suspect = 3}, Cause{heard, Spent::timeout});
  CHECK(book.last() == Cause{heard, Spent::timeout});
}
