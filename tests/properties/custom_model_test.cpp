// Models of consistency that a scenario writes down: those that psim has, written so, are the same runs;
// promises are checked; and who waits for an expression is told which.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/properties/training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

const std::string fresh = "model = \"custom\"\nstart = \"version > computed_on\"\ntoo_late = \"age > 0\"\n";
const std::string custom = "model = \"custom\"\n";

// A built-in model, and the same as expressions.
const std::vector<std::pair<std::string, std::string>> pairs{
    {"model = \"bsp\"", fresh + "update = \"pushes >= workers\""},
    {"model = \"ssp\"\nstaleness = 2",
     custom + "staleness = 2\nstart = \"clock - min_clock <= staleness\"\nupdate = \"pushes >= 1\""},
    {"model = \"asp\"", custom},
    {"model = \"asp\"\nmax_staleness = 3", custom + "too_late = \"age > 3\""},
    {"model = \"k-sync\"\nk = 3", fresh + "k = 3\nupdate = \"pushes >= k\""},
    {"model = \"k-sync\"\nk = 3\nlate = \"drop\"",
     fresh + "k = 3\nupdate = \"pushes >= k\"\nlate = \"drop\""},
    {"model = \"k-batch-sync\"\nk = 2", custom + "k = 2\nupdate = \"pushes >= k\"\ntoo_late = \"age > 0\""},
    {"model = \"k-async\"\nk = 3", custom + "k = 3\nstart = \"applied >= pushed\"\nupdate = \"pushes >= k\""},
    {"model = \"k-batch-async\"\nk = 3", custom + "k = 3\nupdate = \"pushes >= k\""}};

const std::string crash =
    "[recovery]\nheartbeat = \"5ms\"\ntimeout = \"20ms\"\nretry = \"10ms\"\n"
    "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 1\"]\nat = \"30ms\"\nrestart_after = \"40ms\"\n";

}  // namespace

TEST_CASE("custom: models written as expressions are the built-in ones, bit for bit", "[custom][slow]") {
  for (const int servers : {1, 3}) {
    for (const std::string& more : std::vector<std::string>{"", crash}) {
      Training base{.servers = servers};
      base.more += more;
      for (const auto& [built_in, own] : pairs) {
        // psim's own models make smaller updates where workers are gone or have finished; an expression means
        // what it says.
        const bool shrinks = own.find("pushes >= workers") != std::string::npos ||
                             built_in.find("k-batch-async") != std::string::npos;
        if (!more.empty() && shrinks) continue;
        INFO(own << "\nS = " << servers << "\n" << more);
        CHECK(digest(with(base, own)) == digest(with(base, built_in)));
      }
    }
  }
}

TEST_CASE("custom: a push weighs what its expression says", "[custom]") {
  const Training base{.servers = 2};
  Training aware = with(base, "model = \"asp\"");
  aware.optimizer +=
      "\nstaleness_aware = true\nstaleness_weight = \"polynomial\"\nstaleness_exponent = 1.0\n";
  check_close(losses(with(base, custom + "weight = \"1 / (1 + age)\"")), losses(aware), 1e-6);
  CHECK(losses(with(base, custom + "weight = \"1 / (1 + age)\"")) != losses(with(base, custom)));
}

TEST_CASE("custom: verify looks after promises", "[custom][slow]") {
  Training base;
  base.more += "[[straggler]]\nworkers = [1]\nslowdown = 4.0\n";
  const auto verdict = [&](const std::string& promise) {
    const KeptRun run(
        toml(with(base, custom + "start = \"clock - min_clock <= 4\"\npromises = [\"" + promise + "\"]")));
    REQUIRE(run.summary()["updates"] > 0);
    return run.ask("verify");
  };
  CHECK(verdict("clock_gap <= 4").code == 0);
  CHECK(verdict("pushes == 1").code == 0);
  const Outcome broken = verdict("clock_gap <= 1");
  CHECK(broken.code != 0);
  CHECK(broken.out.find("promised is `clock_gap <= 1`") != std::string::npos);
  CHECK(verdict("age <= 0").code != 0);
}

TEST_CASE("custom: an update is the model's, also when workers are gone", "[custom]") {
  const auto traced = [&](const std::string& model, const std::string& back) {
    Training base;
    base.steps = 40;
    base.more +=
        "[recovery]\nheartbeat = \"5ms\"\ntimeout = \"20ms\"\nretry = \"10ms\"\npatience = \"2s\"\n"
        "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 1\", \"worker 2\"]\nat = \"30ms\"\n" +
        back;
    return KeptRun(toml(with(base, model)));
  };
  const std::string three = custom + "update = \"pushes >= 3\"\npromises = [\"pushes >= 3\"]\n";
  // Two workers are left for good: each third push makes an update, until the last ones.
  const KeptRun two = traced(custom + "update = \"pushes >= 3\"\n", "");
  CHECK(two.summary()["stuck"].empty());
  CHECK(two.summary()["updates"].get<int>() <= two.summary()["pushes"]["applied"].get<int>() / 3 + 1);
  two.check_promises();
  // Of four workers one is gone: `members - 1` is two.
  const KeptRun members = traced(custom + "update = \"pushes >= members - 1\"\n", "");
  CHECK(members.summary()["stuck"].empty());
  members.check_promises();
  // Who waits for its own push waits for those that are gone; the run goes on when they are back ...
  const std::string own = three + "start = \"applied >= pushed\"\n";
  const KeptRun back = traced(own, "restart_after = \"50ms\"\n");
  CHECK(back.summary()["stuck"].empty());
  // ... and is stuck when they never come.
  const KeptRun stuck = traced(own, "");
  REQUIRE_FALSE(stuck.summary()["stuck"].empty());
  CHECK(stuck.summary()["stuck"].dump().find(
            "`pushes >= 3` is false: pushes = 2; workers that take part: 2 of 4") != std::string::npos);
  stuck.check_promises();
}

TEST_CASE("custom: who waits for ever is told for which expression", "[custom]") {
  const Json told = toml(with({}, custom + "start = \"clock < 5\"")).run();
  REQUIRE_FALSE(told["stuck"].empty());
  CHECK(told["stuck"][0].get<std::string>().find("`clock < 5` is false: clock = 5") != std::string::npos);
}

TEST_CASE("custom: verify judges the first shard, which decides by its own members", "[custom]") {
  // Workers that come back are members of the second server's shard before its decision arrives.
  for (const char* seed : {"1", "21", "22"}) {
    const KeptRun run(
        ScenarioBuilder({"data.source=blobs", "data.samples=603", "data.features=4", "data.classes=3",
                         "model.layers=[4, 9, 3]", "training.batch_size=13", "training.duration=2s",
                         "consistency.model=custom", "consistency.start=\"clock - min_clock <= 2\"",
                         "consistency.update=pushes >= members", "cluster.workers=4", "cluster.servers=2",
                         "cluster.worker.speed=[\"300kf\", \"200kf\", \"250kf\", \"90kf\"]",
                         "compute.distribution=exponential", "recovery.heartbeat=7ms",
                         "recovery.timeout=31ms", "recovery.retry=15ms", "recovery.patience=3s"})
            .fault("crash", "[\"worker 1\", \"worker 3\"]", {"at=100ms", "restart_after=60ms", "every=200ms"})
            .set("seed", seed));
    const Outcome verdict = run.ask("verify");
    INFO(seed << verdict.out);
    CHECK(verdict.code == 0);
  }
}

TEST_CASE("psim fuzz attacks a model of one's own, and its promises", "[custom][slow]") {
  const TemporaryFolder folder;
  const auto attack = [&](const std::string& model) {
    std::ofstream(folder.path() / "mine.toml") << "[training]\nsteps = 5\n" << model;
    return psim::test::psim({"fuzz", "--base", "mine.toml", "--seed", "3", "--runs", "6", "--out", "failed"},
                            folder.path());
  };
  const std::string ssp = "[consistency]\nmodel = \"custom\"\nstart = \"clock - min_clock <= 3\"\n";
  const Outcome kept = attack(ssp + "promises = [\"clock_gap <= 3\"]\n");
  INFO(kept.out << kept.err);
  CHECK(kept.code == 0);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "failed"));

  const Outcome broken = attack(ssp + "promises = [\"clock_gap <= 1\"]\n");
  CHECK(broken.code == 1);
  CHECK(broken.out.find("promised is `clock_gap <= 1`") != std::string::npos);
  CHECK(broken.out.find("--base mine.toml") != std::string::npos);
  // What it has written is the whole scenario: it breaks its promise by itself.
  std::size_t failed = 0;
  for (const auto& one : std::filesystem::directory_iterator(folder.path() / "failed")) {
    ++failed;
    CHECK(content(one.path()).find("clock - min_clock <= 3") != std::string::npos);
    CHECK(psim::test::psim({"run", one.path().string(), "--out", "it", "--force"}, folder.path()).code <= 1);
    CHECK(psim::test::psim({"verify", "it"}, folder.path()).code == 1);
  }
  CHECK(failed > 0);

  CHECK(attack("").code == 2);  // no model
  CHECK(attack("[consistency]\nmodel = \"custom\"\nstart = \"clock <=\"\n").code == 2);
}
