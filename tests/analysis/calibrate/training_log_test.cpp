// Logs of Megatron-LM and DeepSpeed, and tables of whole steps.
#include <algorithm>
#include <string>

#include "tests/analysis/calibrate/reading.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;
using psim::test::compute;
using psim::test::contains;
using psim::test::Read;
using psim::test::reading;

TEST_CASE("Megatron-LM's lines are whole steps", "[unit][calibrate]") {
  const Read read = reading(
      "[before the start of training step] datetime: 2025-04-13 23:41:00 \n"
      " [2025-04-13 23:41:12] iteration       10/    1000 | consumed samples:          160 | elapsed time "
      "per iteration "
      "(ms): 1147.6 | learning rate: 0.000000E+00 | global batch size:    16 |\n"
      "(min, max) time across ranks (ms):\n"
      "12%|##| 12/100 iteration       20/    1000 | consumed samples: 320 | elapsed time per iteration (ms): "
      "1.2E+03 | "
      "lm loss: 9.1E+00 |\n");
  INFO(read.error);
  REQUIRE(read.log.steps.counts().steps == 2);
  CHECK(read.log.has_whole_steps);
  CHECK(compute(read, 7, 10) == Approx(1.1476));
  CHECK(compute(read, 7, 20) == Approx(1.2));
  REQUIRE(read.log.notes.size() == 2);
  CHECK(contains(read.log.notes[0], "the mean of 10 steps"));
  CHECK(contains(read.log.notes[1], "other lines about times: 1;"));
}

TEST_CASE("DeepSpeed's times of parts are computations, by rank", "[unit][calibrate]") {
  const std::string head = "[2023-06-21 07:39:09,443] [INFO] [logging.py:96:log_dist] [Rank 0] ";
  const Read read = reading(
      head + "rank=3 time (ms) | forward_microstep: 1.0 | backward_microstep: 2.0\n" + head +
      "rank=3 time (ms) | forward: 27.50 | backward: 73.50 | backward_inner: 51.00 | backward_allreduce: "
      "22.50 | step: "
      "72.50\n[2023-06-21 07:39:09,500] [INFO] [timer.py:215:stop] epoch=0/micro_step=10/global_step=10, "
      "RunningAvgSamplesPerSec=220.6, CurrSamplesPerSec=222.8\n" +
      head +
      "rank=3 time (ms) | fwd: 20.00 | bwd: 70.00 | bwd_inner: 50.00 | bwd_allreduce: 20.00 | step: 30.00\n" +
      head +
      "rank=3 time (ms) | fwd: 0.00 | bwd: 0.00 | bwd_inner: 0.00 | bwd_allreduce: 0.00 | step: 0.00\n");
  INFO(read.error);
  CHECK(!read.log.has_whole_steps);
  REQUIRE(read.log.steps.counts().steps == 2);
  const LoggedStep& first = read.log.steps.workers().at(3).at(0);
  CHECK(first.compute == Approx(0.151));
  CHECK(first.push == Approx(0.0225));
  CHECK(compute(read, 3, 1) == Approx(0.1));
  CHECK(contains(read.log.notes.back(), "other lines about times: 3;"));
}

TEST_CASE("DeepSpeed's dates tell whole steps", "[unit][calibrate]") {
  const auto line = [](const std::string& date, const std::string& step) {
    return "[" + date + "] [INFO] [timer.py:260:stop] " + step +
           ", RunningAvgSamplesPerSec=25.0, CurrSamplesPerSec=25.7\n";
  };
  const Read read = reading(line("2023-11-07 23:59:50,250", "epoch=0/micro_step=40/global_step=10") +
                            line("2023-11-08 00:00:00,750", "epoch=0/micro_step=80/global_step=20"));
  INFO(read.error);
  CHECK(compute(read, 7, 20) == Approx(1.05));
  CHECK(read.log.has_whole_steps);
  const Read older =
      reading(line("2022-08-29 06:58:56,176", "0/20") + line("2022-08-29 06:58:58,176", "0/30"));
  CHECK(compute(older, 7, 30) == Approx(0.2));
  const Read single = reading(line("2022-08-29 06:58:56,176", "0/20"));
  CHECK(contains(single.error, "tells no time of a step"));
  CHECK(contains(single.help, "wall_clock_breakdown"));
}

TEST_CASE("a log in brackets is no JSON", "[unit][calibrate]") {
  const Read read = reading("[INFO] nothing about steps\n[INFO] again\n");
  CHECK(contains(read.error, "does not know this kind of file; it begins with `[INFO] nothing about steps`"));
  CHECK(contains(reading(std::string("\xff\xfe[\0", 4)).error, "UTF-16"));
}

TEST_CASE("whole steps of a table are marked, and tell the rest beside computations", "[unit][calibrate]") {
  const Read whole = reading("worker,step,step_time_ms\n0,0,250\n1,0,260\n");
  CHECK(whole.log.has_whole_steps);
  CHECK(compute(whole, 1, 0) == Approx(0.26));
  const Read one = reading("iteration,iteration_time_s\n4,0.5\n");
  CHECK(one.log.has_whole_steps);
  CHECK(compute(one, 7, 4) == 0.5);
  const Read both = reading("worker,step,compute_s,step_s\n0,0,0.2,0.25\n");
  CHECK(!both.log.has_whole_steps);
  CHECK(both.log.steps.workers().at(0).at(0).push == Approx(0.05));
  CHECK(both.log.steps.workers().at(0).at(0).pull == 0);
  const psim::test::TemporaryFolder folder;
  ClusterLog log;
  const auto read = [&](const char* name, const char* text) {
    const std::string path = (folder.path() / name).string();
    std::ofstream(path) << text;
    read_log(path, 0, {}, log);
  };
  read("a.csv", "worker,step,step_s\n0,0,1\n");
  CHECK_THROWS_WITH(read("b.csv", "worker,step,compute_s\n1,0,1\n"),
                    Catch::Contains("some have whole steps"));
}
