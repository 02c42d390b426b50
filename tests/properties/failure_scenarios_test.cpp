// The scenarios about failures say what they promise: the direction of each claim and its rough size, and
// exactly where a claim is exact (what failures may cost is time, not bits).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

using Sets = FieldValues;

// A scenario of the folder, as it is but for `sets`.
Json shipped(const std::string& name, const Sets& sets, int code = 0) {
  return run_file("scenarios/" + name + ".toml", sets, code);
}

Sets with(Sets sets, const std::string& more) {
  sets.push_back(more);
  return sets;
}

double time_of(const Json& summary) { return summary["sim_time_s"]; }
double loss_of(const Json& summary) { return summary["final"]["loss"]; }

// Updates that were done by a date.
std::int64_t updates_at(const Json& summary, double date) {
  std::int64_t updates = 0;
  for (const Json& point : summary["curve"]) {
    if (point["sim_time_s"].get<double>() <= date + 1e-9) updates = point["updates"];
  }
  return updates;
}

void keeps_its_promises(const std::string& name, const std::string& set) {
  INFO(name);
  const KeptRun run(scenario_file("scenarios/" + name + ".toml", {set}));
  REQUIRE(exit_code(run.summary()) == 0);
  run.check_promises();
}

const std::string no_faults = "fault=[]", bsp = "consistency.model=bsp", asp = "consistency.model=asp";

}  // namespace

TEST_CASE("server_crash: a replica loses no bit, a snapshot little, nothing the whole shard",
          "[failures][slow]") {
  const Json none = shipped("server_crash", {}), snapshot = shipped("server_crash", {"snapshot.every=200ms"}),
             replica = shipped("server_crash", {"replication.copies=1"}),
             unhurt = shipped("server_crash", {no_faults});
  CHECK(replica["final"] == unhurt["final"]);
  CHECK(snapshot["final"] != unhurt["final"]);
  const auto recovery = [](const Json& s) {
    return s["failures"]["recoveries"].at(0)["total_s"].get<double>();
  };
  CHECK(recovery(replica) < recovery(snapshot));
  CHECK(recovery(snapshot) + 1 < recovery(none));
  CHECK(time_of(unhurt) + 1.5 < time_of(replica));
}

TEST_CASE("partition: bsp and ssp stand still as long as it lasts, asp goes on, and removal lets all go on",
          "[failures][slow]") {
  const Sets quick{"training.epochs=30"};
  const auto run = [&](const std::string& model, const std::string& lost) {
    return shipped("partition", with(with(quick, "consistency.model=" + model), "recovery.workers=" + lost));
  };
  const double unhurt = time_of(shipped("partition", with(quick, no_faults)));
  const Json wait = run("bsp", "wait"), remove = run("bsp", "remove");
  CHECK(time_of(wait) - unhurt > 1.9);
  CHECK(time_of(wait) - unhurt < 2.3);
  CHECK(wait["final"] == shipped("partition", with(quick, no_faults))["final"]);
  CHECK(updates_at(wait, 3) == updates_at(wait, 1.2));
  CHECK(updates_at(remove, 3) > updates_at(remove, 1.2) + 100);
  CHECK(remove["failures"]["false_suspicions"] == 4);
  // As fast as before when all are together again.
  CHECK(static_cast<double>(updates_at(remove, 3.5) - updates_at(remove, 3.2)) >=
        0.95 * static_cast<double>(updates_at(remove, 0.9) - updates_at(remove, 0.6)));
  const Json ssp = run("ssp", "wait");
  CHECK(updates_at(ssp, 3) == updates_at(ssp, 1.2));
  const Json free = run("asp", "wait");
  CHECK(updates_at(free, 3) > updates_at(free, 1.2) + 500);
  CHECK(free["staleness"]["max"] > 500);
}

// A group of bsp has one push of each worker, of its own version: a repeated one changes nothing there.
TEST_CASE("lossy_network: exactly-once is as if nothing were lost, at-least-once a larger step",
          "[failures]") {
  const Sets once{"recovery.semantics=exactly-once"}, often{"recovery.semantics=at-least-once"};
  const Json unhurt = shipped("lossy_network", {bsp, no_faults});
  CHECK(shipped("lossy_network", with(once, bsp))["final"] == unhurt["final"]);
  CHECK(shipped("lossy_network", with(often, bsp))["final"] == unhurt["final"]);
  const Json first = shipped("lossy_network", with(once, asp)),
             second = shipped("lossy_network", with(often, asp));
  const auto count = [](const Json& s, const char* key) { return s["pushes"][key].get<double>(); };
  const double pushes = 2 * first["steps"].get<double>();  // one to each server
  CHECK(count(first, "applied") == pushes);
  CHECK(count(first, "duplicate") > 0.2 * pushes);
  // 3 of 10 come twice, less one in a hundred that is lost, and some repeated for the sake of lost answers.
  CHECK(count(second, "applied") == Approx(1.3 * pushes).epsilon(0.03));
  CHECK(count(second, "duplicate") == 0);
  CHECK(loss_of(second) > 1.2 * loss_of(first));
  CHECK(loss_of(first) < 1.3 * loss_of(unhurt));
}

TEST_CASE("a false suspicion makes two owners, and does no harm", "[failures]") {
  const Sets steps{"training.duration=1000s", "training.epochs=10",
                   "recovery={detector=\"timeout\", timeout=\"150ms\"}"};
  const std::string freeze =
      "fault=[{kind=\"slow\", nodes=[\"server 1\"], factor=0.0, at=\"500ms\", lasts=\"300ms\"}]";
  const Json hung = shipped("false_suspicion", with(steps, freeze)),
             unhurt = shipped("false_suspicion", with(steps, no_faults));
  CHECK(hung["failures"]["suspicions"] == 1);
  CHECK(hung["failures"]["false_suspicions"] == 1);
  CHECK(hung["failures"]["takeovers"] >= 2);  // by the replica, and back
  CHECK(hung["final"] == unhurt["final"]);
}

TEST_CASE("false_suspicion: haste is cheap where a new owner is near, unless it never ends",
          "[failures][slow]") {
  const auto run = [](const std::string& detector) {
    return shipped("false_suspicion", {"training.duration=4s", "recovery={" + detector + "}"});
  };
  const auto timeout = [&](const char* after) {
    return run(fmt::format("detector=\"timeout\", timeout=\"{}\"", after));
  };
  const Json hasty = timeout("80ms"), quick = timeout("120ms"), patient = timeout("500ms"),
             slow = timeout("2s");
  CHECK(hasty["failures"]["false_suspicions"] > 20);
  CHECK(quick["failures"]["false_suspicions"] >= 3);
  CHECK(patient["failures"]["false_suspicions"] == 0);
  CHECK(quick["updates"] > patient["updates"]);
  CHECK(patient["updates"] > slow["updates"]);
  const Json accrual = run("detector=\"phi-accrual\", threshold=8.0");
  CHECK(accrual["failures"]["false_suspicions"] < quick["failures"]["false_suspicions"]);
  const auto detection = [](const Json& s) {
    return s["failures"]["recoveries"].at(0)["detection_s"].get<double>();
  };
  CHECK(detection(accrual) < detection(patient));
}

// Haste at such a price leaves shards without an owner at times.
TEST_CASE("an evaluation takes what a shard's last owner had", "[failures]") {
  const Json s = shipped("false_suspicion", {"seed=2", "fault.1.delay=\"200ms\"",
                                             "recovery={detector=\"timeout\", timeout=\"80ms\"}"});
  CHECK(s["failures"]["false_suspicions"] > 20);
  const auto turns = static_cast<std::size_t>(std::ceil(time_of(s) / 0.1));
  CHECK(s["curve"].size() >= turns);  // and one at the end, if there was an update since
  CHECK(s["curve"].size() <= turns + 1);
}

TEST_CASE("elasticity: progress is workers times time, and moving a server costs little",
          "[failures][slow]") {
  // In two seconds, without a target that could be reached.
  const auto updates = [](const std::string& faults) {
    return shipped("elasticity", {faults, "training.duration=2s", "training.target={accuracy=1.0}"},
                   1)["updates"]
        .get<double>();
  };
  const auto fault = [](const char* kind, const std::string& nodes) {
    return fmt::format("fault=[{{kind=\"{}\", at=\"1s\", nodes={}}}]", kind, nodes);
  };
  const double all = updates(no_faults),
               half = updates(R"(fault=[{kind="join", at="1.9s", nodes=["worker 2", "worker 3"]}])");
  CHECK(half == Approx(0.525 * all).epsilon(0.06));
  const std::string two = R"(["worker 2", "worker 3"])", server = R"(["server 1"])";
  CHECK(updates(fault("leave", two)) == Approx(0.75 * all).epsilon(0.05));
  CHECK(updates(fault("join", two)) == Approx(0.75 * all).epsilon(0.05));
  for (const char* kind : {"join", "leave"}) CHECK(updates(fault(kind, server)) == Approx(all).epsilon(0.1));
}

TEST_CASE("rolling_restart: with a copy it costs time and no bit", "[failures][slow]") {
  const Sets quick{"training.epochs=28"};
  const Json none = shipped("rolling_restart", quick),
             copy = shipped("rolling_restart", with(quick, "replication.copies=1")),
             unhurt = shipped("rolling_restart", with(quick, no_faults));
  CHECK(copy["failures"]["crashes"] == 4);
  CHECK(copy["final"] == unhurt["final"]);
  CHECK(none["final"] != unhurt["final"]);
  CHECK(time_of(none) > time_of(copy) + 1);
  for (const Json& recovery : copy["failures"]["recoveries"]) CHECK(recovery["total_s"].get<double>() < 0.25);
}

TEST_CASE("ten_percent_failures: who waits for the dead does not arrive", "[failures][slow]") {
  const auto run = [](const std::string& model, const std::string& lost, int code = 0) {
    return shipped("ten_percent_failures", {"consistency.model=" + model, "recovery.workers=" + lost}, code);
  };
  const Json wait = run("bsp", "wait", 1), remove = run("bsp", "remove"), free = run("asp", "wait");
  CHECK(wait["failures"]["crashes"] > 0);
  CHECK(wait["target"]["reached"] == false);
  CHECK(remove["target"]["reached"] == true);
  CHECK(free["target"]["reached"] == true);
  CHECK(free["target"]["sim_time_s"] < remove["target"]["sim_time_s"]);
  CHECK(remove["failures"]["crashes"] <= 5);
}

TEST_CASE("scenarios in which servers fail keep their promises", "[failures][slow]") {
  keeps_its_promises("server_crash", "replication.copies=2");
  keeps_its_promises("rolling_restart", "replication.copies=1");
  keeps_its_promises("false_suspicion", "training.duration=3s");
  keeps_its_promises("checkpoint_interval", "training.duration=300s");
}

TEST_CASE("scenarios in which workers or messages fail keep their promises", "[failures][slow]") {
  keeps_its_promises("elasticity", "consistency.model=bsp");
  keeps_its_promises("lossy_network", "consistency.model=asp");
  keeps_its_promises("partition", "training.epochs=20");
  keeps_its_promises("replication_cost", "replication.copies=1");
  keeps_its_promises("ten_percent_failures", "consistency.model=asp");
}

TEST_CASE("faults that do nothing change no bit of what is learned", "[failures][slow]") {
  const Sets quick{"training.epochs=5"};
  const Json expected = shipped("quickstart", quick)["final"];
  for (const char* fault : {R"({kind="slow", nodes=["workers"], factor=1.0, at="100ms", lasts="200ms"})",
                            R"({kind="degrade", nodes=["all"], factor=1.0, from="100ms", until="300ms"})",
                            R"({kind="drop", probability=0.0})", R"({kind="duplicate", probability=0.0})",
                            R"({kind="crash", nodes=["server 0"], at="1000s"})",
                            R"({kind="crash", nodes=["workers"], when="updates >= 1000000"})",
                            R"({kind="partition", between=[["worker 0"], ["rest"]], at="1000s"})"}) {
    INFO(fault);
    CHECK(shipped("quickstart", with(quick, fmt::format("fault=[{}]", fault)))["final"] == expected);
  }
}

// A moment in which nothing moves may be one before a repetition.
TEST_CASE("evaluations go on while everybody waits to send again", "[failures]") {
  const Json s = shipped("partition", {"fault.0.between=[[\"workers\"],[\"rest\"]]", "training.epochs=10"});
  CHECK(s["stuck"].empty());
  CHECK(time_of(s) > 3);
  REQUIRE(s["curve"].size() == static_cast<std::size_t>(std::ceil(time_of(s) / 0.1)) + 1);
}

TEST_CASE("ps-lite: resends nine times a second apart, and takes nobody's place", "[failures]") {
  const ScenarioBuilder training({"training.epochs=3", "cluster.workers=4", "cluster.servers=2"});
  const Json lost = training.set("preset", "ps-lite-resend")
                        .add("fault", {"kind=drop", "messages=[\"push\"]", "from=100ms"})
                        .run();
  REQUIRE(lost["stuck"].size() == 1);
  CHECK_THAT(lost["stuck"][0].get<std::string>(), Catch::Contains("retry_limit"));
  CHECK(time_of(lost) > 10.1 - 1e-9);  // the first push is lost after 100 ms, and its tenth expiry ends it
  CHECK(time_of(lost) < 10.2);
  const ScenarioBuilder patient = training.set("recovery.patience", "5s");
  const Json halted = patient.set("preset", "mxnet-dist_sync").fault("crash", "worker 1", {"at=100ms"}).run();
  CHECK_FALSE(halted["stuck"].empty());
  const Json anew =
      patient.set("preset", "ps-lite").fault("crash", "server 1", {"at=100ms", "restart_after=500ms"}).run();
  CHECK(anew["stuck"].empty());
  CHECK(anew["failures"]["takeovers"] == 1);
  CHECK(anew["failures"]["state_bytes"] == 0);  // nobody had a copy
}
