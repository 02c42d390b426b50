// Limits on the age of a gradient: late = "cancel" stops a step at that age under every model that knows one,
// several servers may judge the parts of a gradient differently, and `age = "gradient"` prevents that.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/oracles/ideal.hpp"
#include "tests/properties/training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Steps of 1 s on an ideal network; worker 3 of four needs 10 s.
ScenarioBuilder four(const std::string& consistency, int servers = 1) {
  return toml(Ideal{.consistency = consistency,
                    .workers = 4,
                    .duration = 120.5,
                    .compute = "",
                    .cluster = "[[straggler]]\nworkers = [3]\nslowdown = 10.0\n",
                    .servers = servers});
}

const std::vector<std::string> models_with_an_age{
    "model = \"asp\"\nmax_staleness = 7",
    "model = \"ssp\"\nstaleness = 1000\nmax_staleness = 7",
    "model = \"dssp\"\nstaleness = 1000\nstaleness_max = 1001\nmax_staleness = 7",
    "model = \"k-async\"\nk = 1\nmax_staleness = 7",
    "model = \"k-batch-async\"\nk = 1\nmax_staleness = 7",
    "model = \"custom\"\ntoo_late = \"age >= 8\"",
    "model = \"custom\"\nstart = \"applied >= pushed\"\ntoo_late = \"age > 7\"",
    "model = \"custom\"\nstart = \"clock - min_clock <= 1000\"\ntoo_late = \"age > 7\""};

std::int64_t torn_in(const std::vector<RecordedEvent>& events) {
  std::map<std::pair<int, std::int64_t>, std::set<std::string>> outcomes;  // by worker and push
  for (const RecordedEvent& event : events) {
    if (event.is("push_outcome", "applied") || event.is("push_outcome", "late"))
      outcomes[{event.peer, event["push"]}].insert(event.kind);
  }
  std::int64_t torn = 0;
  for (const auto& [push, kinds] : outcomes) torn += kinds.size() > 1 ? 1 : 0;
  return torn;
}

}  // namespace

TEST_CASE("late = cancel: a step stops when its push would be too old, by hand", "[ages][oracle]") {
  // The three fast workers make 3 updates a second, and each 8 updates stop worker 3: 360 / 8 stops.
  for (const std::string& model : models_with_an_age) {
    INFO(model);
    const Json run = four(model + "\nlate = \"cancel\"").run();
    CHECK(run["workers"][3]["cancelled"] == 45);
    CHECK(run["pushes"]["applied"] == 360);
    CHECK(run["workers"][3]["clocks"] == 0);
    const Json dropped = four(model + "\nlate = \"drop\"").run();
    CHECK(dropped["workers"][3]["cancelled"] == 0);
    CHECK(dropped["pushes"]["dropped"].get<int>() >= 12);
    CHECK(four(model).run()["digest"] == dropped["digest"]);  // the default
  }
}

TEST_CASE("late = cancel: a stopped worker begins its clock again, so every clock counts", "[ages]") {
  for (const std::string& model : models_with_an_age) {
    INFO(model);
    const Json run =
        four(model + "\nlate = \"cancel\"").set({"training.steps=20", "training.duration=1000s"}).run();
    CHECK(run["stuck"].empty());
    CHECK(run["workers"][3]["cancelled"].get<int>() > 0);
    CHECK(run["workers"][3]["clocks"] == 20);
    CHECK(run["pushes"]["applied"] == 80);
    CHECK(run["pushes"]["dropped"] == 0);
  }
}

TEST_CASE("late = cancel with several servers: the first shard's age, or the first age that is too high",
          "[ages]") {
  for (const std::string& model : models_with_an_age) {
    INFO(model);
    const Json own = four(model + "\nlate = \"cancel\"", 2).run();
    CHECK(own["workers"][3]["cancelled"].get<int>() >= 40);
    CHECK(own["workers"][3]["clocks"] == 0);
    const Json one = four(model + "\nlate = \"cancel\"\nage = \"gradient\"", 2).run();
    CHECK(one["workers"][3]["cancelled"] == 45);
  }
}

TEST_CASE("gradients of which servers judge the parts differently are counted as torn", "[ages]") {
  for (const std::string model :
       {"model = \"asp\"\nmax_staleness = 4", "model = \"ssp\"\nstaleness = 3\nmax_staleness = 4",
        "model = \"k-batch-async\"\nk = 2\nmax_staleness = 1",
        "model = \"custom\"\ntoo_late = \"age > 4\""}) {
    INFO(model);
    Training each{.consistency = model, .workers = 6, .servers = 3};
    each.more +=
        "[cluster.network]\nbandwidth = \"1MBps\"\n";  // messages wait, so servers hear in other orders
    const TracedRun run = toml(each).trace();
    CHECK(run.summary["pushes"]["torn"].get<int>() > 0);
    CHECK(run.summary["pushes"]["torn"] == torn_in(run.events));
    const Json whole = psim::test::run(with(each, model + "\nage = \"gradient\""));
    CHECK(whole["stuck"].empty());
    CHECK(whole["pushes"]["torn"] == 0);
    const auto dropped = whole["pushes"]["dropped"].get<int>() - whole["pushes"]["unused_at_end"].get<int>();
    CHECK(dropped > 0);
    CHECK(dropped % 3 == 0);
  }
}

TEST_CASE("ages, replicas and crashes: sound runs verify", "[ages][slow]") {
  const std::string crash =
      "[recovery]\nheartbeat = \"5ms\"\ntimeout = \"20ms\"\nretry = \"10ms\"\n"
      "[[fault]]\nkind = \"crash\"\nnodes = [\"server 0\"]\nat = \"30ms\"\nrestart_after = \"40ms\"\n";
  for (const std::string& model : models_with_an_age) {
    for (const char* age : {"shard", "gradient"}) {
      for (const char* late : {"drop", "cancel"}) {
        for (const char* copies : {"", "[replication]\ncopies = 1\n"}) {
          INFO(model << ", " << age << ", " << late << ", " << copies);
          const Training training{
              .consistency = fmt::format("{}\nage = \"{}\"\nlate = \"{}\"", model, age, late), .servers = 3};
          const KeptRun kept(toml(training) + copies + crash);
          CHECK(kept.summary()["stuck"].empty());
          const Outcome verdict = kept.ask("verify");
          INFO(verdict.out);
          CHECK(verdict.code == 0);
        }
      }
    }
  }
}

TEST_CASE("verify and the simulator agree on which shards follow the first one", "[ages][custom][slow]") {
  const std::string lost =
                        "[recovery]\nheartbeat = \"5ms\"\ntimeout = \"20ms\"\nretry = \"10ms\"\n"
                        "[[fault]]\nkind = \"drop\"\nfrom = \"20ms\"\nuntil = \"29ms\"\n",
                    crash =
                        "[recovery]\nheartbeat = \"5ms\"\ntimeout = \"20ms\"\nretry = \"10ms\"\n"
                        "[[fault]]\nkind = \"crash\"\nnodes = [\"server 1\"]\nat = \"30ms\"\n"
                        "restart_after = \"40ms\"\n";
  for (const char* start : {"clock - min_clock <= 3", "applied >= pushed", "true",
                            "clock < 3 + min_clock || applied >= pushed"}) {
    for (const char* update :
         {"pushes >= 2", "pushes >= min(k, members)", "pushes >= (version < 5 ? 1 : 2)"}) {
      for (const std::string& fault : {lost, crash}) {
        INFO(start << ", " << update << "\n" << fault);
        const Training training{
            .consistency =
                fmt::format("model = \"custom\"\nk = 2\nstart = \"{}\"\nupdate = \"{}\"", start, update),
            .servers = 3,
            .steps = 10};
        const Outcome verdict = KeptRun(toml(training) + fault).ask("verify");
        INFO(verdict.out);
        CHECK(verdict.code == 0);
      }
    }
  }
}
