// Traces of events: Chrome's JSON as Kineto, Horovod and others write it.
#include <algorithm>
#include <string>

#include "tests/analysis/calibrate/reading.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;
using psim::test::compute;
using psim::test::contains;
using psim::test::Read;
using psim::test::reading;

namespace {

std::string event(const std::string& name, int pid, int tid, double us, int step) {
  return "{\"ph\": \"X\", \"name\": \"" + name + "\", \"pid\": " + std::to_string(pid) +
         ", \"tid\": " + std::to_string(tid) + ", \"ts\": 1.5, \"dur\": " + std::to_string(us) +
         ", \"args\": {\"nested\": {\"step\": 99}, \"step\": " + std::to_string(step) + "}}";
}

}  // namespace

TEST_CASE("events with a step argument add up, by process and step, in the busiest thread", "[calibrate]") {
  const std::string events =
      "[" + event("forward-compute", 0, 1, 1000, 3) + "," + event("backward-compute", 0, 1, 2000, 3) + "," +
      event("forward-compute", 0, 2, 2500, 3) + "," + event("forward-send", 0, 1, 9000, 3) + "," +
      event("forward-compute", 1, 1, 4000, 21) + "]";
  for (const std::string& text :
       {events, "{\"otherData\": {\"step\": 1}, \"traceEvents\": " + events + "}"}) {
    const Read read = reading(text);
    INFO(read.error);
    CHECK(read.log.steps.counts().steps == 2);
    CHECK(compute(read, 0, 3) == Approx(0.003));
    CHECK(compute(read, 1, 21) == Approx(0.004));
  }
  const Read named = reading(events, {.compute = "send$"});
  CHECK(compute(named, 0, 3) == Approx(0.009));
  const Read lost = reading(events, {.compute = "gemm"});
  CHECK(lost.error == ": no event is called `gemm`");
  CHECK(contains(lost.help, "`forward-compute` (3 times)"));
  CHECK(contains(reading(events, {.compute = "compute", .step_arg = "iteration"}).error,
                 "no argument `iteration`"));
  CHECK(contains(reading(events, {.compute = "("}).error, "--compute-name ("));
  CHECK(contains(reading("{\"traceEvents\": []}").error, "there are no events of a duration"));
}

TEST_CASE("a file of Kineto is one worker, numbered by its rank or its place", "[calibrate]") {
  const auto kineto = [](const std::string& begin) {
    std::string text = begin + "\"traceEvents\": [";
    for (int step = 0; step < 3; ++step) {
      for (const char* pid : {"4711", "0", "\"Spans\""})
        text += std::string(step > 0 || *pid != '4' ? "," : "") + R"({"ph": "X", "name": "ProfilerStep#)" +
                std::to_string(step) + R"(", "ts": )" + std::to_string(5000 * step) +
                R"(, "dur": 5000, "pid": )" + pid + R"(, "tid": 1, "args": {}})";
    }
    return text + "]}";
  };
  const Read numbered = reading(kineto("{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3}, "));
  INFO(numbered.error);
  CHECK(numbered.log.steps.workers().size() == 1);
  CHECK(compute(numbered, 3, 2) == Approx(0.005));
  CHECK(contains(numbered.log.notes.front(), "whole ProfilerStep# spans"));
  CHECK(compute(reading(kineto("{")), 7, 0) == Approx(0.005));
  const std::string broken = kineto("{").substr(0, kineto("{").size() - 30);
  const Read cut = reading(broken);
  CHECK(cut.log.steps.counts().steps == 3);
  CHECK(std::ranges::any_of(cut.log.notes,
                            [](const std::string& note) { return contains(note, "breaks off"); }));
}

TEST_CASE("Horovod's ticks give every rank's computation", "[calibrate]") {
  // Two tensors; two ranks; steps of 10 ms. Rank 1 is ready 4 ms after rank 0, and the sums end at 9 ms.
  std::string text = "[";
  for (int pid = 1; pid <= 2; ++pid)
    text += R"({"name": "process_name", "ph": "M", "pid": )" + std::to_string(pid) +
            R"(, "args": {"name": "t"}},)";
  for (int step = 0; step < 4; ++step) {
    const int begin = 10'000 * step;
    for (int pid = 1; pid <= 2; ++pid) {
      const std::string of = R"(, "pid": )" + std::to_string(pid);
      const auto at = [&](int us) { return R"(, "ts": )" + std::to_string(begin + us) + of; };
      text += R"({"ph": "B", "name": "NEGOTIATE_ALLREDUCE")" + at(1000) + "},";
      text += R"({"ph": "X", "name": "0", "dur": 0)" + at(1000 * pid) + "},";
      text += R"({"ph": "X", "name": "1", "dur": 0)" + at(1000 * pid + 4000) + "},";
      text += R"({"ph": "E")" + at(7000) + "},";
      text += R"({"ph": "B", "name": "ALLREDUCE")" + at(7000) + "},";
      text += R"({"ph": "E")" + at(9000) + "},";
    }
  }
  text.back() = ']';
  const Read read = reading(text);
  INFO(read.error);
  REQUIRE(read.log.steps.workers().size() == 2);
  // From 9 ms of one step to 2 ms (and 6 ms) of the next.
  CHECK(compute(read, 0, 1) == Approx(0.003));
  CHECK(compute(read, 1, 3) == Approx(0.007));
}

TEST_CASE("a tensor that Horovod does not reduce once in each step shifts no step", "[calibrate]") {
  std::string text = "[";
  // A round of a tensor with two ranks, 2 ms from begin to end.
  const auto round = [&](int pid, int begin) {
    const auto at = [&](int us) {
      return R"(, "ts": )" + std::to_string(begin + us) + R"(, "pid": )" + std::to_string(pid) + "},";
    };
    text += R"({"ph": "B", "name": "NEGOTIATE_ALLREDUCE")" + at(0);
    text += R"({"ph": "X", "name": "0", "dur": 0)" + at(0) + R"({"ph": "X", "name": "1", "dur": 0)" + at(500);
    text += R"({"ph": "E")" + at(1000) + R"({"ph": "B", "name": "ALLREDUCE")" + at(1000) + R"({"ph": "E")" +
            at(2000);
  };
  constexpr int steps = 20;
  for (int step = 0; step < steps; ++step) {
    const int begin = 10'000 * step;
    if (step == 0) round(9, 0);  // the first weights
    for (int pid = 1; pid <= 3; ++pid) round(pid, begin + 5000);
    if (step % 10 == 9) round(4, begin + 8000);  // a metric after an epoch
  }
  text.back() = ']';
  const Read read = reading(text);
  CHECK(read.error.empty());
  CHECK(read.log.steps.counts().steps == 2 * (steps - 1));
  CHECK(read.log.steps.counts().impossible == 0);
  for (int step = 1; step < steps; ++step) {
    // From the end of the step before, 7 ms after its begin.
    CHECK(compute(read, 0, step) == Approx(0.008));
    CHECK(compute(read, 1, step) == Approx(0.0085));
  }
  REQUIRE(read.log.notes.size() == 1);
  CHECK(contains(read.log.notes[0], "2 tensors are not reduced once in each step"));
}

TEST_CASE("pairs of begin and end are events, as a stack of each thread", "[calibrate]") {
  const auto half = [](const char* phase, const std::string& name, int tid, int ts,
                       const std::string& more = "") {
    return std::string(R"({"ph": ")") + phase + R"(", "name": ")" + name + R"(", "pid": 3, "tid": )" +
           std::to_string(tid) + R"(, "ts": )" + std::to_string(ts) + more + "}";
  };
  const std::string step = R"(, "args": {"step": 8})";
  const Read read =
      reading("[" + half("B", "forward-compute", 1, 1000, step) + "," + half("B", "send", 1, 1500) + "," +
              half("B", "forward-compute", 2, 1600) + "," + half("E", "send", 1, 1900) + "," +
              half("E", "forward-compute", 1, 4000) + "," + half("E", "forward-compute", 2, 2600, step) +
              "," + half("E", "", 2, 2700) + "," + half("B", "forward-compute", 1, 5000, step) + "]");
  CHECK(read.error.empty());
  CHECK(read.log.steps.counts().steps == 1);
  CHECK(compute(read, 3, 8) == Approx(0.003));
  REQUIRE(read.log.notes.size() == 1);
  CHECK(contains(read.log.notes[0], "begin and do not end: 1"));
}

TEST_CASE("a kernel of Kineto belongs to the ProfilerStep in which it begins", "[calibrate]") {
  const auto span = [](const std::string& name, const char* pid, int ts, int us) {
    return R"({"ph": "X", "name": ")" + name + R"(", "pid": )" + pid + R"(, "tid": 1, "ts": )" +
           std::to_string(ts) + R"(, "dur": )" + std::to_string(us) + "}";
  };
  // The kernels stand before the steps. Process 0 is the device; process 4711 has steps at other dates.
  std::string events;
  for (int step = 0; step < 3; ++step)
    events += span("gemm", "0", 10'000 * step + 500, 2000 + step) + "," +
              span("gemm", "0", 10'000 * step + 4000, 1000) + "," +
              span("ncclAllReduce", "0", 10'000 * step + 6000, 3000) + ",";
  events += span("gemm", "0", 90'000, 1000);
  std::string host, device;
  for (int step = 0; step < 3; ++step) {
    host += "," + span("ProfilerStep#" + std::to_string(step + 5), "4711", 10'000 * step, 10'000);
    device += "," + span("ProfilerStep#" + std::to_string(step + 4), "0", 10'000 * step, 10'000);
  }
  const Read read = reading("[" + events + host + "]", {.compute = "gemm"});
  CHECK(read.error.empty());
  CHECK(read.log.steps.workers().size() == 1);
  CHECK(compute(read, 7, 5) == Approx(0.003));
  CHECK(compute(read, 7, 7) == Approx(0.003002));
  REQUIRE(read.log.notes.size() == 1);
  CHECK(contains(read.log.notes[0], "without a number of a step: 1"));
  // The steps of the same process come first.
  const Read own = reading("[" + events + host + device + "]", {.compute = "gemm"});
  CHECK(compute(own, 7, 4) == Approx(0.003));
}
