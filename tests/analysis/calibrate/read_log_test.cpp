// Logs of real clusters: every kind of file that psim reads, and every way in which such a file is wrong.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "analysis/calibrate/step_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::calibrate;
using psim::test::TemporaryFolder;

namespace {

struct Read {
  ClusterLog log;
  std::string error, help;
};

Read reading(const std::string& text, const EventNames& names = {}, const std::string& name = "log") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / name).string();
  std::ofstream(path, std::ios::binary) << text;
  Read read;
  try {
    read_log(path, 7, names, read.log);
  } catch (const LogError& error) {
    read.error = error.what();
    if (read.error.starts_with(path)) read.error.erase(0, path.size());
    read.help = error.help;
  }
  return read;
}

double compute(const Read& read, std::int64_t worker, std::int64_t step) {
  return read.log.steps.workers().at(worker).at(step).compute;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string event(const std::string& name, int pid, int tid, double us, int step) {
  return "{\"ph\": \"X\", \"name\": \"" + name + "\", \"pid\": " + std::to_string(pid) +
         ", \"tid\": " + std::to_string(tid) + ", \"ts\": 1.5, \"dur\": " + std::to_string(us) +
         ", \"args\": {\"nested\": {\"step\": 99}, \"step\": " + std::to_string(step) + "}}";
}

}  // namespace

TEST_CASE("a table of steps has its columns in any order, and its units in their names", "[calibrate]") {
  const Read read = reading(
      "# a comment\n"
      "step;push_ms;rank;compute_ms;loss;pull_us;bytes\n"
      "5;20;1;100;0.5;3000;4e6\n"
      "6;;1;200;0.4;;\n"
      "5;10;0;50;0.3;1000;4e6\n");
  CHECK(read.error.empty());
  CHECK(read.log.steps.counts().steps == 3);
  const LoggedStep& first = read.log.steps.workers().at(1).at(5);
  CHECK(first.compute == Approx(0.1));
  CHECK(first.push == Approx(0.02));
  CHECK(first.pull == Approx(0.003));
  CHECK(first.bytes == 4e6);
  CHECK(std::isnan(first.server));
  CHECK(std::isnan(read.log.steps.workers().at(1).at(6).push));
  CHECK(compute(read, 0, 5) == Approx(0.05));
  REQUIRE(read.log.notes.size() == 1);
  CHECK(contains(read.log.notes.front(), "`loss`"));
}

TEST_CASE("a byte-order mark is no part of a log", "[calibrate]") {
  const std::string mark = "\xef\xbb\xbf";
  const Read table = reading(mark + "worker,step,compute_s\n0,0,0.5\n");
  REQUIRE(table.error == "");
  CHECK(compute(table, 0, 0) == 0.5);
  const Read events = reading(mark + "[" + event("forward-compute", 0, 0, 3e5, 4) + "]");
  REQUIRE(events.error == "");
  CHECK(compute(events, 0, 4) == Approx(0.3));
}

TEST_CASE("impossible steps are counted and left out", "[calibrate]") {
  const Read read = reading(
      "worker,step,compute_s,push_s\n0,0,1,1\n0,0,2,1\n0,1,-1,1\n0,2,0,1\n0,3,1,-0.5\n0,4,inf,1\n0,5,1,1\n");
  const StepLog::Counts& counts = read.log.steps.counts();
  CHECK(counts.steps == 2);
  CHECK(counts.repeated == 1);
  CHECK(counts.impossible == 3);
  CHECK(counts.zero == 1);
  CHECK(compute(read, 0, 0) == 1);
}

TEST_CASE("a table that is wrong says where", "[calibrate]") {
  CHECK(reading("worker,step,compute_s\n0,0,fast\n").error == ":2: `fast` is not a number");
  CHECK(reading("worker,step,compute_s\n0,0\n").error == ":2: 2 values under 3 columns");
  CHECK(reading("worker,step,compute_s\nfirst,0,1\n").error == ":2: `first` is not the number of a worker");
  CHECK(reading("worker,step,compute_s\n0,-1,1\n").error == ":2: `-1` is not the number of a step");
  const Read lacks = reading("worker,step,loss\n0,0,1\n");
  CHECK(lacks.error == ": there is no column `compute_s`");
  CHECK(contains(lacks.help, "`loss`"));
  CHECK(contains(reading("a,b\n1,2\n").error, "does not know this kind of file; it begins with `a,b`"));
  CHECK(reading("step,worker,step,compute_s\n0,0,0,1\n").error == ": the column `step` is there twice");
  CHECK(reading("").error == ": the file is empty");
  CHECK(reading("\xef\xbb\xbf").error == ": the file is empty");
  CHECK(reading(" \n\n").error == ": the file is empty");
  CHECK(contains(reading("PAR1....").error, "Parquet"));
}

TEST_CASE("pairs of bytes and seconds, nccl-tests and iperf3 are link tests", "[calibrate]") {
  const Read pairs = reading("bytes,seconds\n1000,0.1\n2000,0.2\n");
  REQUIRE(pairs.log.transfers.size() == 2);
  CHECK(pairs.log.transfers[1].bytes == 2000);
  CHECK(pairs.log.transfers[1].seconds == 0.2);
  CHECK(contains(reading("bytes,seconds\n1000,0\n").error, ":2: 1000 bytes in 0 s"));
  const Read nccl = reading(
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)\n"
      "     1048576        262144     float    none      -1    95.20   11.01   11.01      0    94.87\n"
      "     2097152        524288     float    none      -1   160.00   13.11   13.11      0   159.12\n"
      "# Avg bus bandwidth    : 12.06\n");
  CHECK(nccl.error.empty());
  REQUIRE(nccl.log.transfers.size() == 2);
  CHECK(nccl.log.transfers[0].bytes == 1048576);
  CHECK(nccl.log.transfers[0].seconds == Approx(95.2e-6));
  const Read iperf = reading(
      R"({"start": {"connected": []}, "intervals": [{"streams": [], "sum": {"start": 0, "seconds": 1.0,
      "bytes": 117000000}}, {"sum": {"seconds": 1.0, "bytes": 118000000}}], "end": {}})");
  CHECK(iperf.error.empty());
  REQUIRE(iperf.log.transfers.size() == 2);
  CHECK(iperf.log.transfers[1].bytes == 118e6);
}

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
                std::to_string(step) + R"(", "ts": 1, "dur": 5000, "pid": )" + pid +
                R"(, "tid": 1, "args": {}})";
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

TEST_CASE("a table of runs has fields of the scenario and short names for them", "[unit][calibrate]") {
  const Read read = reading(
      "workers,servers,consistency,messages.acknowledge,model_bytes,compute_ms,slowdown,step_s\n"
      "4,2,ssp 3,true,2000000,100,1,0.25\n"
      "4,1,bsp,false,2000002,50,2.5,0.5\n");
  REQUIRE(read.error == "");
  REQUIRE(read.log.runs.size() == 2);
  const LoggedRun &first = read.log.runs[0], &second = read.log.runs[1];
  using Fields = std::vector<std::pair<std::string, std::string>>;
  CHECK(first.fields == Fields{{"cluster.workers", "4"},
                               {"cluster.servers", "2"},
                               {"consistency", "ssp 3"},
                               {"messages.acknowledge", "true"},
                               {"model.parameters", "500000"},
                               {"compute.time", "\"0.1s\""}});
  CHECK(second.fields[4] == std::pair<std::string, std::string>("model.parameters", "500001"));
  CHECK(second.fields.back() ==
        std::pair<std::string, std::string>("straggler", "[{workers = [0], slowdown = 2.5}]"));
  CHECK(first.step == 0.25);
  CHECK(first.name == "servers 2, consistency ssp 3, model_bytes 2000000, compute_ms 100, slowdown 1");
}

TEST_CASE("a table of runs with a wrong column or value is refused", "[unit][calibrate]") {
  CHECK(reading("workers,step_s,color\n4,0.25,red\n").error == ": `color` is no column of a table of runs");
  CHECK(reading("workers,step_s\n4,0.25\n4,0\n").error == ":3: `0` is no step_s");
  CHECK(reading("workers,compute_s,step_s\n4,inf,1\n").error == ":2: `inf` is no compute_s");
  CHECK(reading("workers,servers,step_s\n4,1\n").error == ":2: 2 values under 3 columns");
  CHECK(reading("workers,compute_s,step_s\n4,2,1.5\n").error ==
        ":2: a step of 1.5 s with a computation of 2 s");
  CHECK(reading("workers,servers,step_s\n4,1,\n").error == ":2: the run has no time of a step");
}
