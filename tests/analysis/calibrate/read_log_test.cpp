// Logs of real clusters as tables and link tests, and every way in which such a file is wrong.
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/analysis/calibrate/reading.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;
using psim::test::compute;
using psim::test::contains;
using psim::test::Read;
using psim::test::reading;
using psim::test::TemporaryFolder;

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
  const Read events = reading(mark + R"([{"ph": "X", "name": "forward-compute", "pid": 0, "tid": 0, "ts": 1.5,
      "dur": 3e5, "args": {"step": 4}}])");
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

TEST_CASE("a table without a header says that it needs one", "[calibrate]") {
  const Read steps = reading("0,0,0.5\n0,1,0.25\n");
  CHECK(steps.error == ":1: the table has no header; it begins with `0,0,0.5`");
  CHECK(contains(steps.help, "worker,step,compute_s"));
  CHECK(contains(reading("1000 0.5\n2000 0.25\n").error, "the table has no header"));
}

TEST_CASE("two columns of one duration are refused with both names", "[calibrate]") {
  CHECK(reading("worker,step,compute_s,compute_ms\n0,0,1,1000\n").error ==
        ": the columns `compute_s` and `compute_ms` are the same duration");
  CHECK(contains(reading("worker,step,duration_s,pull_s,compute\n0,0,1,1,1\n").error,
                 "`duration_s` and `compute`"));
  CHECK(
      contains(reading("worker,step,compute_s,push_us,push_s\n0,0,1,1,1\n").error, "`push_us` and `push_s`"));
  CHECK(contains(reading("workers,compute_s,step_ms,step_s\n4,1,2000,2\n").error, "`step_ms` and `step_s`"));
}

TEST_CASE("a truncated gzip file is refused", "[calibrate]") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "log.csv.gz").string();
  std::string text = "worker,step,compute_s\n";
  for (int step = 0; step < 2000; ++step)
    text += "0," + std::to_string(step) + "," + std::to_string(0.1 + 0.001 * (step * 7919 % 101)) + "\n";
  const gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) > 0);
  REQUIRE(gzclose(file) == Z_OK);
  ClusterLog whole, cut;
  read_log(path, 0, {}, whole);
  CHECK(whole.steps.counts().steps == 2000);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) * 2 / 3);
  CHECK_THROWS_WITH(read_log(path, 0, {}, cut), Catch::Contains("the gzip data break off"));
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
