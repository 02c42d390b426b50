// What single nodes do, where set-ups are unequal: told by who asks whom, and how often.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

ScenarioBuilder toml(const std::string& cluster, const std::string& more) {
  return phantom(1000)
      .set({"training.steps=60", "training.batch_size=16", "compute.time=10ms", "recovery.heartbeat=20ms",
            "recovery.timeout=100ms", "recovery.retry=20ms", "recovery.longest_retry=50ms"})
      .with("cluster", cluster)
      .with("recovery", more);
}

}  // namespace

TEST_CASE("readers ask for as long as they must, whatever the limit of retries", "[roles]") {
  const std::string cut =
                        "[[fault]]\nkind = \"partition\"\nbetween = [[\"{}\"], [\"servers\"]]\nat = "
                        "\"200ms\"\nlasts = \"400ms\"\n",
                    served =
                        "retry_limit = 3\n[consistency]\nmodel = \"asp\"\n[inference]\nnodes = 1\nrate = "
                        "100\nrefresh = \"20ms\"\n";
  const Json reader =
      toml("workers = 2\nservers = 2", served + fmt::format(fmt::runtime(cut), "inference 0")).run();
  CHECK(reader["stuck"].empty());
  CHECK(reader["workers"][0]["clocks"] == 60);
  const Json worker =
      toml("workers = 2\nservers = 2", served + fmt::format(fmt::runtime(cut), "worker 0")).run();
  REQUIRE_FALSE(worker["stuck"].empty());
  CHECK(worker["stuck"].dump().find("worker 0 has sent a request again as often as") != std::string::npos);
}

TEST_CASE("the next owner asks nobody else when the last one has given all", "[roles]") {
  for (const int copies : {1, 2, 3}) {
    const TracedRun run =
        toml("workers = 3\nservers = 4",
             fmt::format("hand_over = \"stop-and-copy\"\n[replication]\ncopies = {}\n[[fault]]\nkind = "
                         "\"leave\"\nnodes = [\"server 1\"]\nat = \"200ms\"\n",
                         copies))
            .trace();
    CHECK(run.summary["stuck"].empty());
    std::map<std::pair<std::int64_t, std::int64_t>, std::set<int>> asked;  // by shard and epoch
    for (const RecordedEvent& event : run.events) {
      if (event.is("sent", "restore")) asked[{event["shard"], event["epoch"]}].insert(event.peer);
    }
    REQUIRE_FALSE(asked.empty());
    for (const auto& [shard, whom] : asked) CHECK(whom == std::set<int>{2});  // server 1
  }
}

TEST_CASE("a run that ends while all compute ends with the computation that began first", "[roles]") {
  // Worker 1 begins its long step at 0.6 s, worker 0 at 0.8 s; the last update is worker 2's, at 2 s.
  const KeptRun run(phantom(100)
                        .set({"training.duration=2900ms", "training.batch_size=16", "consistency.model=asp",
                              "cluster.workers=3", "compute.time=300ms"})
                        .straggler(0, 1.3333333)
                        .straggler(2, 3.3333333)
                        .add("straggler", {"workers=[0, 1]", "from=500ms", "slowdown=100.0"}));
  const Json last = run.told("why")["path"].back();
  CHECK(last["node"] == "worker 1");
  CHECK(last["end_s"] == 2.9);
}
