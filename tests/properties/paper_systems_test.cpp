// The systems of the papers as a whole, with failures: lists of keys that are sent once, groups of pushes on
// several shards, optimizers on the workers. Under bsp none of these changes a bit of what is learned,
// whatever crashes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr int servers = 3, workers = 4;

ScenarioBuilder toml(const std::string& training, const std::string& more) {
  return ScenarioBuilder({"model.layers=[64, 16, 10]", "model.precision=float64", "training.steps=60",
                          "training.batch_size=16", "cluster.worker.speed=100Mf",
                          "compute.distribution=lognormal", "compute.cv=0.2", "recovery.heartbeat=10ms",
                          "recovery.timeout=50ms", "recovery.retry=50ms"})
      .with("training", training)
      .set("cluster.workers", workers)
      .set("cluster.servers", servers)
      .with(more);
}

std::string crash(const std::string& node, const std::string& more = "restart_after = \"30ms\"\n") {
  return fmt::format("[[fault]]\nkind = \"crash\"\nnodes = [\"{}\"]\nat = \"100ms\"\n{}", node, more);
}

const std::string cached = "[messages]\nkeys = \"per-value\"\n[[filter]]\nkind = \"key-caching\"\n";
const std::string copies = "[replication]\ncopies = 1\n";
const std::string lossy =
    "[[fault]]\nkind = \"drop\"\nnodes = [\"all\"]\nprobability = 0.03\n"
    "[[fault]]\nkind = \"reorder\"\nnodes = [\"all\"]\nprobability = 0.1\ndelay = \"3ms\"\n";

}  // namespace

TEST_CASE("key caching changes no bit of what is learned, whatever fails", "[paper][recovery]") {
  const Json expected = toml("", "").run()["final"];
  for (const std::string& faults :
       {std::string(), copies, copies + crash("server 1"), crash("worker 2"), copies + crash("server 0", ""),
        lossy, copies + crash("server 1") + lossy}) {
    INFO(faults);
    const Json run = toml("", cached + faults).run();
    CHECK(run["stuck"].empty());
    CHECK(run["final"] == expected);
  }
}

// A list of keys goes once to each owner of a shard, and again with what is sent again.
TEST_CASE("after a crash each worker sends the new owner its keys once more", "[paper][oracle]") {
  const TracedRun run = toml("", cached + copies + crash("server 1", "")).trace();
  const std::int64_t header = 0;
  std::map<std::pair<int, std::int64_t>, int> listed;  // by worker and epoch: pushes to shard 1 with keys
  std::map<std::int64_t, int> pushes;
  std::map<int, std::int64_t> last;  // push of each worker, in the first epoch
  std::map<int, bool> first_new;     // of the next epoch: has keys
  for (const RecordedEvent& e : run.events) {
    if (!e.is("sent", "push") || e["shard"] != 1) continue;
    const std::int64_t short_size = header + 8 + 8 * e["carried_values"],
                       whole = short_size + 8 * e["carried_values"];
    REQUIRE((e["sent_bytes"] == short_size || e["sent_bytes"] == whole));
    ++pushes[e["epoch"]];
    listed[{e.node, e["epoch"]}] += e["sent_bytes"] == whole ? 1 : 0;
    if (e["epoch"] == 0) last[e.node] = std::max(last[e.node], e["push"]);
    else if (e["push"] > last[e.node]) first_new.try_emplace(e.node, e["sent_bytes"] == whole);
  }
  REQUIRE(pushes.size() == 2);  // epochs: before and after the crash
  for (const auto& [connection, times] : listed) {
    INFO("worker " << connection.first << ", epoch " << connection.second);
    if (connection.second == 0) CHECK(times == 1);
    else CHECK((times == 1 || times == 2));  // the open push again, and the first new one
  }
  REQUIRE(first_new.size() == workers);
  for (const auto& [worker, has_keys] : first_new) CHECK(has_keys);
}

TEST_CASE("k-async on several shards goes on whatever fails", "[paper][recovery][slow]") {
  for (const std::string k : {"2", "3", "4"}) {
    const std::string model = "[consistency]\nmodel = \"k-async\"\nk = " + k + "\n";
    for (const std::string& faults :
         {copies, copies + crash("server 0"), crash("server 1"), crash("worker 2"), crash("worker 1", ""),
          lossy, crash("server 0") + lossy, copies + crash("worker 3") + lossy}) {
      INFO(model << faults);
      const Json run = toml("", model + faults).run();
      CHECK(run["stuck"].empty());
      CHECK(run["final"]["accuracy"] > 0.5);
    }
  }
}

// Servers have sums; workers' copies are what counts, and every one of them is the same.
TEST_CASE("updates on workers are those on servers, whatever fails under bsp", "[paper][recovery][slow]") {
  for (const std::string optimizer :
       {"learning_rate = 0.25\n", "learning_rate = 0.01\noptimizer = \"adam\"\n"}) {
    const Json expected = toml(optimizer, "").run()["final"];
    const std::string on_worker = optimizer + "update = \"worker\"\n";
    for (const std::string& faults :
         {std::string("[recovery.x]\n").substr(0, 0), copies, copies + crash("server 1"), crash("server 1"),
          crash("server 0", ""), crash("worker 2"), lossy, crash("server 2") + lossy}) {
      INFO(on_worker << faults);
      const Json run = toml(on_worker, faults).run();
      CHECK(run["stuck"].empty());
      CHECK(run["final"]["loss"] == expected["loss"]);
    }
  }
}

TEST_CASE("all workers crash: nobody has a copy, and training begins with first weights",
          "[paper][recovery]") {
  const Json run = toml("update = \"worker\"", crash("workers")).run();
  CHECK(run["stuck"].empty());
  CHECK(run["updates"].get<int>() >= 60);
}

TEST_CASE("where workers push their own steps, one of them learns what a server would",
          "[paper][equivalence][slow]") {
  for (const std::string model : {"\"asp\"", "\"ssp\"", "\"k-batch-async\"\nk = 1"}) {
    const std::string one = "[consistency]\nmodel = " + model + "\n";
    const auto final_loss = [&](const std::string& training) {
      const Json run = toml(training, one).set({"cluster.workers=1"}).run();
      return run["final"]["loss"].get<double>();
    };
    for (const std::string optimizer :
         {"learning_rate = 0.25\n", "learning_rate = 0.01\noptimizer = \"adam\"\n"})
      CHECK(final_loss(optimizer + "update = \"worker\"\n") == Approx(final_loss(optimizer)).epsilon(1e-9));
  }
}

TEST_CASE("workers' own steps with failures: servers have the weights", "[paper][recovery]") {
  for (const std::string model : {"asp", "ssp", "k-sync\"\nk = 3 # \""}) {
    for (const std::string& faults : {copies + crash("server 1"), crash("worker 2"), lossy}) {
      const Json run = toml("update = \"worker\"\noptimizer = \"momentum\"\nlearning_rate = 0.02",
                            "[consistency]\nmodel = \"" + model + "\"\n" + faults)
                           .run();
      INFO(model << faults);
      CHECK(run["stuck"].empty());
      CHECK(run["final"]["accuracy"] > 0.5);
    }
  }
}

TEST_CASE("presets byteps and osdi14 run with replication and a crash", "[paper][presets]") {
  for (const std::string preset : {"byteps", "osdi14"}) {
    const auto run = [&](const std::string& more) { return toml("", more).set("preset", preset).run(); };
    const Json expected = run("")["final"];
    const Json crashed = run(copies + crash("server 1"));
    CHECK(crashed["stuck"].empty());
    CHECK(crashed["final"]["loss"] == expected["loss"]);
  }
}
