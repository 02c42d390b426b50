// Changes of servers, ends of messages and windows, against closed forms.
#include "tests/oracles/what_if_plan.hpp"

using namespace psim::test;

namespace {

double saved(const Json& answer, std::size_t change) {
  return answer["original"]["seconds"].get<double>() -
         answer["changes"][change]["same_steps_s"].get<double>();
}

}  // namespace

TEST_CASE("what-if: the work of servers, ends of messages and windows", "[slow]") {
  // A server adds up 4 pushes of 5 million values, at 4 ns each: 80 ms of each of 20 updates.
  const Recorded work({.more = "[cluster.server]\nflops_per_value = 4\nspeed = \"1Gf\"\n"});
  const Json less = work.what_if({"server-work=0.5x", "server-work=2x"});
  CHECK(saved(less, 0) == Approx(20 * 0.04));
  CHECK(saved(less, 1) == Approx(-20 * 0.08));
  // Each message of a push or an answer costs 1 ms where it leaves and 2 ms where it arrives.
  const Recorded at_ends({.more = "endpoint = { send_overhead = \"1ms\", receive_overhead = \"2ms\" }\n"});
  const Json ends = at_ends.what_if({"overhead=0x", "overhead=2x"});
  CHECK(saved(ends, 0) > 20 * 2 * 0.003);
  CHECK(saved(ends, 1) < -20 * 2 * 0.003);
  // A window of 200 kB for round trips of 200 us is as wide as a link of 1 GB/s: no more helps.
  const Recorded narrow({.more = "tcp_window = \"20kB\"\n"});
  const Json wider = narrow.what_if({"window=2x", "window=4x"});
  CHECK(saved(wider, 0) > 0);
  CHECK(saved(wider, 1) > saved(wider, 0));
}

TEST_CASE("what-if: other servers, other places, later crashes", "[slow]") {
  const Recorded run(Plan{});
  const Json answer = run.what_if({"servers=4", "placement=hash-ring"});
  // Four servers' links carry what two did.
  CHECK(answer["changes"][0]["rerun_s"] < answer["original"]["seconds"]);
  CHECK(answer["changes"][1]["rerun_s"].get<double>() > 0);
  CHECK(run.answer({"later-crash=1s"}).code == 2);
}
