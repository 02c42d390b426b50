// Changes of servers, ends of messages and windows: predicted, or only made again.
#include "tests/oracles/what_if_plan.hpp"

using namespace psim::test;

TEST_CASE("what-if: the work of servers, ends of messages and windows", "[slow]") {
  // Two pushes of 20 MB each come to each server at a time; the model has no straggler, so nothing reorders.
  const std::string ends = "endpoint = { send_overhead = \"1ms\", receive_overhead = \"2ms\" }\n";
  const Recorded work({.more = "[cluster.server]\nflops_per_value = 4\nspeed = \"1Gf\"\n"});
  const Json less = work.what_if({"server-work=0.5x", "server-work=2x", "bandwidth=0.5x"});
  check_exact(less);
  // A server adds up 4 pushes of 5 million values, at 4 ns each: 80 ms of each of 20 updates.
  const double saved =
      less["original"]["seconds"].get<double>() - less["changes"][0]["rerun_s"].get<double>();
  CHECK(saved == Approx(20 * 0.04));

  // Who waits for its turn at an end waits as long as it did, which is an error.
  const Recorded at_ends({.more = ends});
  for (const Json& change : at_ends.what_if({"overhead=0.5x", "overhead=3x"})["changes"]) {
    INFO(change.dump());
    CHECK(std::abs(change["error"].get<double>()) < 0.01);
  }

  const Recorded narrow({.more = "tcp_window = \"200kB\"\n"});
  const Json wider = narrow.what_if({"window=2x", "window=0.5x", "window=100x"});
  check_exact(wider);
}

TEST_CASE("what-if: what no graph knows is run again, and nothing is predicted", "[slow]") {
  const Recorded run(Plan{});
  const Json answer = run.what_if({"servers=4", "placement=hash-ring"});
  for (const Json& change : answer["changes"]) {
    CHECK(change["predicted_s"].is_null());
    CHECK(change["rerun_s"].get<double>() > 0);
  }
  // Four servers' links carry what two did.
  CHECK(answer["changes"][0]["rerun_s"] < answer["original"]["seconds"]);
  const Outcome none = run.answer({"later-crash=1s"});
  CHECK(none.code == 2);
}
