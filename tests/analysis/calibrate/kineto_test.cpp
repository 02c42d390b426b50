// Traces of PyTorch's profiler: what of a step is computation.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/analysis/calibrate/reading.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;
using psim::test::compute;
using psim::test::contains;
using psim::test::Read;
using psim::test::reading;

namespace {

// A span of `ms` milliseconds.
std::string span(const std::string& category, const std::string& name, const std::string& pid, int tid,
                 double begin, double ms, const std::string& args = "{}") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": )" + pid +
         R"(, "tid": )" + std::to_string(tid) + R"(, "ts": )" + std::to_string(1000 * begin) +
         R"(, "dur": )" + std::to_string(1000 * ms) + R"(, "args": )" + args + "}";
}

// Steps of 210 ms on the host, and on the device a kernel that computes and one that communicates.
std::string steps_of(double computing, const std::string& kernel, int steps = 30,
                     const std::string& args = "{}") {
  std::vector<std::string> events;
  for (int step = 0; step < steps; ++step) {
    const double begin = 210.0 * step;
    events.push_back(span("user_annotation", "ProfilerStep#" + std::to_string(step), "4711", 1, begin, 210));
    events.push_back(span("kernel", "sgemm", "0", 7, begin, computing, step == 14 ? args : "{}"));
    events.push_back(span("user_annotation", "nccl:all_reduce", "4711", 1, begin + 1, 1));
    events.push_back(span("kernel", kernel, "0", 20, begin + computing - 10, 220 - computing));
  }
  std::string text;
  for (const std::string& event : events) text += (text.empty() ? "" : ", ") + event;
  return R"({"schemaVersion": 1, "traceEvents": [)" + text + "]}";
}

}  // namespace

TEST_CASE("a step of Kineto computes but for the time in which only nccl or rccl runs", "[unit][calibrate]") {
  for (const char* kernel :
       {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "rcclGenericKernel", "NCCL_Kernel"}) {
    const Read slow = reading(steps_of(180, kernel), {}, "rank1.json");
    INFO(kernel << slow.error);
    REQUIRE(slow.log.steps.counts().steps == 30);
    const LoggedStep& step = slow.log.steps.workers().at(1).at(12);
    CHECK(step.compute == Approx(0.18));
    CHECK(step.push == Approx(0.03));
    CHECK(step.pull == 0);
  }
  CHECK(compute(reading(steps_of(90, "ncclDevKernel_AllReduce"), {}, "rank0.json"), 0, 3) == Approx(0.09));
  // Names that the user gives come first.
  CHECK(compute(reading(steps_of(90, "ncclDevKernel_AllReduce"), {.compute = "nccl"}, "rank0.json"), 0, 3) ==
        Approx(0.13));
  CHECK(compute(reading(steps_of(90, "relu"), {}, "rank0.json"), 0, 3) == Approx(0.21));
}

TEST_CASE("annotations such as gloo:all_reduce are communication where no kernel is", "[unit][calibrate]") {
  std::string text;
  for (int step = 0; step < 3; ++step)
    text += span("user_annotation", "ProfilerStep#" + std::to_string(step), "1", 1, 100 * step, 100) + "," +
            span("cpu_op", "aten::addmm", "1", 1, 100 * step, 50) + "," +
            span("cpu_op", "c10d::allreduce_", "1", 1, 100 * step + 40, 60) + "," +
            span("user_annotation", "gloo:all_reduce", "1", 2, 100 * step + 40, 60) + (step < 2 ? "," : "");
  const Read read = reading("[" + text + "]");
  CHECK(compute(read, 7, 1) == Approx(0.05));
}

TEST_CASE("bare inf and nan end no trace", "[unit][calibrate]") {
  for (const char* bare : {"inf", "-inf", "nan", "NaN", "Infinity", "-Infinity", "-nan(ind)"}) {
    const std::string args =
        std::string(R"x({"memory bandwidth (GB/s)": )x") + bare + R"x(, "name": "inf \"nan, nan"})x";
    const Read read = reading(steps_of(90, "ncclDevKernel", 40, args), {}, "rank2.json");
    INFO(bare << read.error);
    CHECK(read.log.steps.counts().steps == 40);
    CHECK(read.log.notes.size() == 2);
  }
  // The first piece of a file ends in a bare word.
  const std::string before = R"([{"name": ")", after = R"(", "x": inf}, )";
  const std::size_t filling = (1 << 18) - before.size() - after.find("inf") - 1;
  const std::string step = span("", "forward-compute", "0", 1, 0, 5, R"({"step": 4})") + "]";
  CHECK(compute(reading(before + std::string(filling, 'x') + after + step), 0, 4) == Approx(0.005));
}

TEST_CASE("a trace that is wrong between its events is refused", "[unit][calibrate]") {
  std::string text = steps_of(90, "ncclDevKernel");
  text.insert(text.find("ProfilerStep#20"), "\" \"");
  const Read read = reading(text);
  CHECK(contains(read.error, "the JSON is wrong after"));
  CHECK(contains(read.help, "cannot read the events that follow"));
}

TEST_CASE("spans of one name are steps of their own", "[unit][calibrate]") {
  // PyTorch 1.13 without a wait.
  std::string text;
  for (int step = 0; step < 5; ++step)
    text += span("", "ProfilerStep#" + std::to_string(std::max(0, step - 1)), "1", 1, 10 * step, 10) +
            (step < 4 ? "," : "");
  const Read read = reading("[" + text + "]");
  CHECK(read.log.steps.counts().steps == 5);
  CHECK(compute(read, 7, 0) == Approx(0.01));
  CHECK(compute(read, 7, 4) == Approx(0.01));
  CHECK(contains(read.log.notes.front(), "each counts as a step"));
}

TEST_CASE("names of files tell workers, and files share a note", "[unit][calibrate]") {
  const psim::test::TemporaryFolder folder;
  ClusterLog log;
  int place = 0;
  for (const char* name : {"node_1.1687000000001.pt.trace.json", "node_2.1687000000002.pt.trace.json",
                           "node_1.1687000000003.pt.trace.json", "trace-rank-9.json", "Rank_8.json"}) {
    std::string text = steps_of(90, "relu", 2);
    if (std::string(name).find("003") != std::string::npos) {
      for (std::size_t at = 0; (at = text.find("Step#", at)) != std::string::npos; ++at)
        text.insert(at + 5, "7");
    }
    const std::string path = (folder.path() / name).string();
    std::ofstream(path) << text;
    read_log(path, place++, {}, log);
  }
  REQUIRE(log.steps.workers().size() == 4);
  CHECK(log.steps.workers().at(0).size() == 4);
  CHECK(log.steps.workers().contains(9));
  CHECK(log.steps.workers().contains(8));
  REQUIRE(log.notes.size() == 3);
  CHECK(
      contains(log.notes[0], "node_1.1687000000001.pt.trace.json and 4 more: the times are those of whole"));
  CHECK(contains(log.notes[1], "a further cycle"));
  CHECK(contains(log.notes[2], "trace-rank-9.json and 1 more: psim takes the worker's number"));
}

TEST_CASE("a trace without a schedule says what it lacks", "[unit][calibrate]") {
  for (const auto& [category, name] : {std::pair("cpu_op", "forward"), std::pair("", "aten::mm")}) {
    const Read read = reading("[" + span(category, name, "1", 1, 0, 5) + "]");
    CHECK(contains(read.error, "no spans ProfilerStep#N"));
    CHECK(contains(read.help, "schedule="));
  }
}
