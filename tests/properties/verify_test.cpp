// `psim verify` holds for what psim does, and in the build with mutants (tests/mutants) finds each of the
// mistakes below under the name of the check that it violates.

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/support/catch.hpp"
#include "tests/support/run_file.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

using Words = std::vector<std::string>;

// Four workers, three servers, real weights; failures are noticed within 70 ms.
constexpr const char* base = R"(
[model]
layers = [64, 10]
[training]
batch_size = 16
steps = 60
learning_rate = 0.1
[compute]
time = "10ms"
distribution = "exponential"
[cluster]
workers = 4
servers = 3
)";
const Words watched{"recovery.heartbeat=\"20ms\"", "recovery.timeout=\"70ms\"", "recovery.retry=\"50ms\"",
                    "recovery.longest_retry=\"200ms\"", "recovery.patience=\"3s\""};

const std::string bsp = "consistency={model=\"bsp\"}", ssp = "consistency={model=\"ssp\", staleness=1}",
                  asp = "consistency={model=\"asp\"}", one_copy = "replication.copies=1",
                  two_copies = "replication.copies=2", slow_net = "cluster.network.bandwidth=\"2Mbps\"";

std::string crash(int server, const char* at, const char* back = "300ms") {
  return fmt::format("{{kind=\"crash\", nodes=[\"server {}\"], at=\"{}\", restart_after=\"{}\"}}", server, at,
                     back);
}
std::string faults(const Words& all) {
  std::string text = "fault=[";
  for (const std::string& one : all) text += (text.back() == '[' ? "" : ", ") + one;
  return text + "]";
}
const std::string twice = R"({kind="duplicate", messages=["push"], probability=0.3})",
                  cut_off =
                      R"({kind="partition", between=[["server 0"], ["scheduler"]], at="200ms", lasts="1s"})";

struct Verified {
  Outcome outcome;
  Words broken;  // the checks that are violated
  std::string all() const { return outcome.out + outcome.err; }
};

Verified verify(const std::filesystem::path& folder) {
  Verified result{.outcome = psim::test::psim({"verify", "run", "--json"}, folder), .broken = {}};
  if (result.outcome.code > 1) return result;
  const Json document = Json::parse(result.outcome.out);
  for (const Json& check : document["checks"]) {
    if (check["violations"].get<int>() > 0) result.broken.push_back(check["name"]);
  }
  return result;
}

// Runs the scenario with `mutant`, none if it is empty, and verifies it.
Verified run_and_verify(const Words& sets, const std::string& mutant, const std::string& toml = base) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << toml;
  Words words{"run", "scenario.toml", "--trace", "events", "--out", "run"};
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  const Words environment = mutant.empty() ? Words{} : Words{"PSIM_MUTANT=" + mutant};
  const Outcome run = psim::test::psim(words, folder.path(), environment, 60);
  INFO(run.err);
  REQUIRE(run.code <= 1);
  return verify(folder.path());
}

Words with(Words sets, const Words& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

struct Mutant {
  const char* name;
  const char* check;  // that must be violated
  Words sets;
};

constexpr const char* k_sync_with_grace = "consistency={model=\"k-sync\", k=2, grace=\"1ms\"}";

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all{
      {"one-clock-further", "reads", {ssp}},
      {"one-clock-further", "clock-gap", {ssp}},
      {"copies-last-a-clock-longer", "copies", {"consistency={model=\"ssp\", staleness=3, cache=true}"}},
      {"limit-is-one-more", "staleness", {"consistency={model=\"asp\", max_staleness=2}"}},
      {"deadlines-pass-unnoticed", "closings", {"consistency={model=\"bsp\", window=\"1ms\"}"}},
      {"a-grace-counts-from-the-first-push", "closings", {k_sync_with_grace}},
      {"adaptive-deadlines-add-nothing", "closings", {"consistency={model=\"bsp\", deadline_mad=4.0}"}},
      {"old-version", "reads", {bsp}},
      {"writes-unseen", "read-my-writes", {asp, slow_net}},
      {"who-is-alone-hears-nothing", "groups",
       with(watched, {"architecture.kind=\"all-reduce\"", "cluster={workers=2}",
                      faults({R"({kind="leave", nodes=["worker 1"], at="100ms"})",
                              R"({kind="join", nodes=["worker 1"], at="200ms"})"})})},
      {"custom-updates-at-once", "updates", {"consistency={model=\"custom\", update=\"pushes >= 3\"}"}},
      {"small-group", "updates", {bsp}},
      {"late-push-counts", "updates", {"consistency={model=\"k-batch-sync\", k=2, late=\"drop\"}"}},
      {"version-jump", "versions", {asp}},
      {"push-vanishes", "conservation", {asp}},
      {"push-vanishes", "conservation", with(watched, {asp, "recovery.enabled=true"})},
      {"bytes-counted-twice", "conservation", {asp}},
      {"end-is-late", "end-date", {asp}},
      {"absence-counts-as-waiting", "time",
       with(watched,
            {asp, faults({R"({kind="crash", nodes=["worker 1"], at="200ms", restart_after="200ms"})"})})},
      {"one-sample-more", "samples", {ssp}},
      {"waits-name-the-next-event", "waits", {ssp}},
      {"pushes-release-as-states", "waits", {ssp}},
      {"answers-look-smaller", "sizes", {bsp}},
      {"any-view-detects", "recovery",
       with(watched, {asp, faults({crash(1, "300ms"), R"({kind="join", nodes=["worker 1"], at="310ms"})"})})},
      {"snapshot-is-free", "snapshots",
       with(watched, {asp, "snapshot.every=\"100ms\"", "snapshot.bandwidth=\"100kBps\"",
                      faults({crash(1, "300ms")})})},
      {"applied-again", "exactly-once", with(watched, {asp, faults({twice})})},
      {"skips-what-may-come", "duplicates",
       with(watched, {asp, faults({R"({kind="join", nodes=["worker 1"], at="200ms"})"})})},
      {"silent-hang", "end",
       with(watched, {bsp, "recovery.servers=\"wait\"",
                      faults({R"({kind="crash", nodes=["server 1"], at="200ms"})"})})},
      {"told-too-early", "acknowledged",
       with(watched,
            {asp, one_copy,
             faults({R"({kind="delay", messages=["replicate"], delay="40ms"})", crash(1, "300ms")})})},
      {"confirmed-unseen", "acknowledged", with(watched, {asp, one_copy, faults({crash(1, "300ms")})})},
      {"entry-skipped", "replicas", with(watched, {asp, one_copy, faults({crash(1, "300ms")})})},
      {"replica-diverges", "replicas", with(watched, {ssp, one_copy, faults({crash(1, "300ms")})})},
      {"same-epoch", "one-owner", with(watched, {asp, one_copy, faults({crash(1, "300ms")})})},
      {"no-fence", "replicas",
       with(
           watched,
           {asp, two_copies,
            faults(
                {R"({kind="partition", between=[["server 0"], ["scheduler"]], at="235ms", lasts="1s"})",
                 R"({kind="delay", messages=["replicate"], between=[["server 1"], ["server 2"]], delay="80ms"})",
                 crash(1, "385ms")})})},
  };
  return all;
}

}  // namespace

TEST_CASE("verify finds nothing in the scenarios in which it finds mistakes", "[verify][slow]") {
  for (const Mutant& mutant : mutants()) {
    DYNAMIC_SECTION(mutant.name << ": " << mutant.check) {
      const Verified result = run_and_verify(mutant.sets, "");
      INFO(result.all());
      CHECK(result.outcome.code == 0);
    }
  }
}

#ifdef PSIM_MUTANTS
TEST_CASE("verify finds each mistake by its name", "[verify]") {
  for (const Mutant& mutant : mutants()) {
    DYNAMIC_SECTION(mutant.name << ": " << mutant.check) {
      const Verified wrong = run_and_verify(mutant.sets, mutant.name);
      INFO(wrong.all());
      CHECK(wrong.outcome.code == 1);
      CHECK(std::ranges::count(wrong.broken, mutant.check) == 1);
    }
  }
}
#endif

TEST_CASE("runs with failures keep their promises", "[verify][slow]") {
  const std::string drop = R"({kind="drop", probability=0.1, from="100ms", until="400ms"})",
                    worker = R"({kind="crash", nodes=["worker 1"], at="150ms", restart_after="200ms"})",
                    late = R"({kind="reorder", delay="5ms", probability=0.3})",
                    once_more = "recovery.semantics=\"at-least-once\"";
  const std::vector<Words> scenarios{
      {bsp, faults({worker})},
      {bsp, one_copy, faults({crash(0, "200ms"), drop})},
      {bsp, one_copy, "replication.when=\"every-push\"", faults({crash(2, "200ms")})},
      {bsp, "snapshot.every=\"100ms\"", faults({crash(1, "250ms")})},
      {ssp, faults({worker, drop})},
      {ssp, two_copies, "replication.layout=\"chain\"", faults({crash(0, "200ms"), crash(1, "350ms")})},
      {ssp, one_copy, "replication.when=\"every-push\"", faults({crash(1, "200ms"), twice})},
      {ssp, faults({crash(1, "250ms")})},
      {asp, once_more, faults({twice, drop})},
      {asp, two_copies, faults({cut_off, late})},
      {asp, one_copy, "replication.window=3", faults({crash(1, "200ms")})},
      {"consistency={model=\"dssp\", staleness=1, staleness_max=4}", one_copy,
       faults({crash(0, "200ms"), worker})},
      {"consistency={model=\"k-batch-async\", k=2}", one_copy, faults({crash(0, "200ms"), drop})},
  };
  for (const Words& sets : scenarios) {
    const Verified result = run_and_verify(with(watched, sets), "");
    INFO(fmt::format("{}", fmt::join(sets, "\n")) << "\n" << result.all());
    CHECK(result.outcome.code == 0);
  }
}

TEST_CASE("workers and servers that come and go keep the books in order", "[verify][slow]") {
  const std::string leaves = R"({kind="leave", nodes=["worker 1"], at="150ms"})",
                    returns = R"({kind="join", nodes=["worker 1"], at="300ms"})",
                    joins = R"({kind="join", nodes=["worker 2"], at="250ms"})",
                    down = R"({kind="crash", nodes=["worker 3"], at="200ms"})",
                    frozen = R"({kind="slow", nodes=["worker 0"], factor=0, from="100ms", until="250ms"})",
                    alone = R"({kind="partition", between=[["worker 1"], ["rest"]], at="500ms"})",
                    moves = R"({kind="leave", nodes=["server 0"], at="200ms"})";
  const std::vector<Words> scenarios{
      {asp, faults({leaves})},       {asp, faults({leaves, returns})},
      {ssp, faults({joins, down})},  {bsp, faults({joins, leaves, returns})},
      {asp, faults({frozen, down})}, {asp, faults({moves, crash(1, "400ms")})},
      {asp, faults({alone})},
  };
  for (const Words& sets : scenarios) {
    const Verified result = run_and_verify(with(watched, sets), "");
    INFO(fmt::format("{}", fmt::join(sets, "\n")) << "\n" << result.all());
    CHECK(result.outcome.code == 0);
  }
}

TEST_CASE("random scenarios with failures keep the books in order", "[verify][slow]") {
  const TemporaryFolder folder;
  const Outcome fuzz =
      psim::test::psim({"fuzz", "--seed", "2611", "--runs", "40", "--out", "found"}, folder.path());
  INFO(fuzz.out << fuzz.err);
  CHECK(fuzz.code == 0);
}

TEST_CASE("scenarios that come with psim keep their promises", "[verify][slow]") {
  for (const char* name : {"architectures", "compression", "delay_compensation", "devices", "elastic",
                           "load_balance", "local_sgd", "outer_loop", "priority", "deadline", "clocked_cache",
                           "quickstart", "stragglers", "update_on_worker"}) {
    const TemporaryFolder folder;
    const std::string file = (source_folder() / "scenarios" / name).string() + ".toml";
    REQUIRE(psim::test::psim({"run", file, "--trace", "events", "--out", "run"}, folder.path()).code == 0);
    const Verified result = verify(folder.path());
    INFO(name << result.all());
    CHECK(result.outcome.code == 0);
  }
}

TEST_CASE("verify compares the histograms of staleness with the events", "[verify]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << base;
  REQUIRE(psim::test::psim({"run", "scenario.toml", "--set", asp, "--out", "run"}, folder.path()).code == 0);
  change_run(folder.path() / "run",
             "UPDATE push_outcome SET staleness_updates = staleness_updates + 1 WHERE number = "
             "(SELECT max(number) FROM push_outcome WHERE outcome = 'applied')");
  CHECK(std::ranges::count(verify(folder.path()).broken, "staleness") == 1);
}

TEST_CASE("verify finds a request and an answer that are sent twice without a fault", "[verify]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << base;
  Words words{"run", "scenario.toml", "--set", bsp, "--set", "recovery.enabled=true", "--out", "run"};
  REQUIRE(psim::test::psim(words, folder.path()).code == 0);
  CHECK(verify(folder.path()).broken.empty());
  const std::string change =
      "UPDATE sent SET pull = pull - 1 WHERE number = (SELECT max(number) FROM sent WHERE ";
  for (const std::string kind : {"pull", "weights"}) {
    change_run(folder.path() / "run", change + "kind = '" + kind + "')");
    CHECK(std::ranges::count(verify(folder.path()).broken, "repeats") == 1);
    words.emplace_back("--force");
    REQUIRE(psim::test::psim(words, folder.path()).code == 0);
  }
}

// Each changes one record of a run that keeps its promises.
TEST_CASE("verify finds forged records by the checks that they break", "[verify]") {
  struct Forged {
    const char* check;
    Words sets;
    const char* sql;
    const char* scenario = "";  // of the project; empty: the base
  };
  const std::string crash_of_worker =
      R"({kind="crash", nodes=["worker 1"], at="200ms", restart_after="300ms"})";
  const Forged all[] = {
      {"shares",
       {bsp, "training.work=\"dynamic\""},
       "UPDATE sent SET samples = samples + 60 WHERE number = "
       "(SELECT max(number) FROM sent WHERE kind = 'assign' AND samples_before = 0)"},
      {"local-steps",
       {bsp, "training.inner={steps=4, dynamic=true}", "compute.distribution=\"constant\""},
       "UPDATE computation SET samples = samples * 2 WHERE number = "
       "(SELECT max(number) FROM computation WHERE phase = 'ended')"},
      {"local-steps",
       {bsp, "training.local_time=\"25ms\"", "compute.distribution=\"constant\""},
       "UPDATE computation SET samples = samples + 1 WHERE number = "
       "(SELECT max(number) FROM computation WHERE phase = 'ended')"},
      {"served",
       {asp, R"(inference={nodes=1, rate=100, refresh="20ms"})"},
       "UPDATE prediction SET version = version + 1 WHERE number = (SELECT max(number) FROM prediction)"},
      {"slow",
       with(watched, {asp, "recovery.slow={factor=2}", "straggler=[{workers=[1], slowdown=5}]",
                      "compute.distribution=\"constant\""}),
       "UPDATE slow_worker SET worker = worker + 1"},
      {"regrouping",
       with(watched, {"architecture.kind=\"all-reduce\"", "cluster={workers=3}", faults({crash_of_worker})}),
       "UPDATE view_change SET at_s = at_s + 0.001 WHERE number = (SELECT min(number) FROM view_change)"},
      {"moves",
       with(watched, {asp, "recovery.rebalance=\"load\"",
                      faults({R"({kind="join", nodes=["server 2"], at="200ms"})"})}),
       "UPDATE move SET shard_values = shard_values + 1"},
      {"keys",
       {asp, "messages.keys=\"per-value\"", R"(filter=[{kind="key-caching"}])"},
       "UPDATE sent SET sent_bytes = sent_bytes - 4 WHERE number = "
       "(SELECT min(number) FROM sent WHERE kind = 'push')"},
      {"tasks",
       {},
       "UPDATE task SET worker = worker + 1 WHERE number = "
       "(SELECT min(number) FROM task WHERE phase = 'given' AND does = 'pull')",
       "scenarios/tasks.toml"}};
  for (const Forged& one : all) {
    INFO(one.check);
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "scenario.toml") << base;
    const std::string scenario = one.scenario;
    Words words{"run",     scenario.empty() ? "scenario.toml" : (source_folder() / scenario).string(),
                "--trace", "events",
                "--out",   "run"};
    for (const std::string& set : one.sets) words.insert(words.end(), {"--set", set});
    REQUIRE(psim::test::psim(words, folder.path()).code == 0);
    CHECK(verify(folder.path()).broken.empty());
    change_run(folder.path() / "run", one.sql);
    CHECK(std::ranges::count(verify(folder.path()).broken, one.check) == 1);
  }
}

TEST_CASE("verify says what it needs", "[verify][slow]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << base;
  const auto psim_here = [&](const Words& words) { return psim::test::psim(words, folder.path()); };
  CHECK(psim_here({"verify", "run"}).code == 2);
  REQUIRE(psim_here({"run", "scenario.toml", "--out", "run", "--trace", "steps"}).code == 0);
  const Outcome without = psim_here({"verify", "run"});
  CHECK(without.code == 2);
  CHECK(without.err.find("--trace events") != std::string::npos);
  REQUIRE(psim_here({"run", "scenario.toml", "--out", "run", "--force"}).code == 0);
  CHECK(psim_here({"verify", "run"}).code == 0);

  // A row that is changed afterwards is found, with its number.
  change_run(
      folder.path() / "run",
      "UPDATE sent SET version = version - 1 WHERE number = (SELECT min(number) FROM sent WHERE kind = "
      "'weights' AND version = 7)");
  const Verified changed = verify(folder.path());
  CHECK(changed.outcome.code == 1);
  CHECK(std::ranges::count(changed.broken, "reads") == 1);

  // So is a message that arrives before it was sent.
  REQUIRE(psim_here({"run", "scenario.toml", "--out", "run", "--force"}).code == 0);
  change_run(
      folder.path() / "run",
      "UPDATE received SET at_s = (SELECT at_s FROM sent WHERE sent.number = message) - 0.0001 WHERE number "
      "= "
      "(SELECT max(received.number) FROM received JOIN sent ON sent.number = message WHERE kind = 'push')");
  CHECK(std::ranges::count(verify(folder.path()).broken, "causes") == 1);
}
