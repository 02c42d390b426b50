// Same scenario and same seed: same bits, whatever the machine does around the run. And no two different
// runs have one digest.
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

constexpr const char* digits = R"([model]
layers = [64, 32, 10]
[training]
batch_size = 16
steps = 40
learning_rate = 0.2
{}
[consistency]
{}
[cluster]
workers = 6
servers = {}
[cluster.worker]
speed = "100Mf"
[compute]
distribution = "lognormal"
cv = 0.5
[[straggler]]
workers = [1]
slowdown = 3.0
probability = 0.3
)";

std::string shipped(const char* name) { return content(source_folder() / "scenarios" / name); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// One of each way in which threads, contexts and messages meet.
std::vector<std::string> scenarios() {
  return {fmt::format(fmt::runtime(digits), "optimizer = \"adam\"\nevaluate_every = \"2 updates\"",
                      "model = \"bsp\"", 2),
          fmt::format(fmt::runtime(digits), "evaluate_every = \"3ms\"\nstaleness_aware = true",
                      "model = \"asp\"", 1),
          // Nobody but workers holds weights, and several workers hold the same version.
          replaced(replaced(shipped("quickstart.toml"), "model = \"bsp\"", "model = \"asp\""), "epochs = 20",
                   "epochs = 1"),
          fmt::format(fmt::runtime(digits), "", "model = \"k-batch-async\"\nk = 2", 3),
          replaced(fmt::format(fmt::runtime(digits), "", "model = \"asp\"", 3), "[compute]",
                   "[cluster.network]\nmodel = \"nic\"\ncross_traffic = true\n"
                   "endpoint = {send_overhead = \"20us\", receive_bandwidth = \"1GBps\"}\n[compute]"),
          fmt::format(fmt::runtime(digits), "target = { accuracy = 0.6 }\nevaluate_every = \"1ms\"",
                      "model = \"ssp\"\nstaleness = 2", 3),
          fmt::format(fmt::runtime(digits), "optimizer = \"momentum\"", "model = \"k-batch-sync\"\nk = 3", 2),
          fmt::format(fmt::runtime(digits), "duration = \"30ms\"", "model = \"k-async\"\nk = 3", 2)};
}

struct Files {
  TemporaryFolder folder;
  explicit Files(const std::string& toml) { std::ofstream(folder.path() / "scenario.toml") << toml; }
};

std::string digest_of(const Outcome& outcome) {
  INFO(outcome.err);
  REQUIRE((outcome.code == 0 || outcome.code == 1));
  return Json::parse(outcome.out)["digest"];
}

// `before`: words before the program, such as `setarch -R`.
std::string digest(const std::string& toml, const std::vector<std::string>& arguments = {},
                   const std::vector<std::string>& environment = {},
                   const std::vector<std::string>& before = {}) {
  const Files files(toml);
  std::vector<std::string> words = before;
  words.insert(words.end(), {binary().string(), "run", "scenario.toml", "--json"});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return digest_of(process(words, files.folder.path(), environment));
}

}  // namespace

TEST_CASE("the digest does not depend on threads", "[determinism][slow]") {
  for (const std::string& toml : scenarios()) {
    const std::string expected = digest(toml, {"--threads", "1"});
    INFO(toml);
    CHECK(digest(toml, {"--threads", "2"}) == expected);
    CHECK(digest(toml, {"--threads", "4"}) == expected);
  }
}

TEST_CASE("the digest does not depend on SimGrid's contexts", "[determinism][slow]") {
  for (const std::string& toml : scenarios()) {
    const std::string expected = digest(toml);
    INFO(toml);
    for (const std::string& context : contexts()) CHECK(digest(toml, {"--context", context}) == expected);
  }
}

TEST_CASE("the digest does not depend on what is recorded", "[determinism][slow]") {
  for (const std::string& toml : scenarios()) {
    const std::string expected = digest(toml);
    INFO(toml);
    for (const char* level : {"none", "steps", "events"}) {
      const TemporaryFolder out;
      CHECK(digest(toml, {"--trace", level, "--out", (out.path() / "run").string()}) == expected);
    }
  }
}

TEST_CASE("the digest does not depend on evaluation", "[determinism][slow]") {
  const std::string acknowledged = "model = \"asp\"\n[cluster.network]\ncross_traffic = true";
  for (const std::string& consistency :
       {"model = \"bsp\""s, "model = \"asp\""s, "model = \"k-sync\"\nk = 4"s, acknowledged}) {
    const auto with = [&](const char* training) {
      return digest(fmt::format(fmt::runtime(digits), training, consistency, 2));
    };
    const std::string expected = with("");
    INFO(consistency);
    CHECK(with("evaluate_every = \"1 updates\"") == expected);
    CHECK(with("evaluate_every = \"700us\"") == expected);
    CHECK(with("evaluate_every = \"1000s\"") == expected);
    CHECK(with("target = { accuracy = 0.5, stop = false }") == expected);
  }
}

// Its evaluations are dates of the clock, which round SimGrid's sums, and do no more than that.
TEST_CASE("a target that is not reached moves no date", "[determinism]") {
  const auto time = [](const char* training) {
    const Files files(fmt::format(fmt::runtime(digits), training, "model = \"asp\"", 2));
    const Outcome run = psim::test::psim({"run", "scenario.toml", "--json"}, files.folder.path());
    return Json::parse(run.out)["sim_time_s"].get<double>();
  };
  CHECK(time("evaluate_every = \"700us\"\ntarget = { accuracy = 0.9999 }") ==
        Approx(time("")).epsilon(1e-12));
}

// Detectors and repetitions are dates, too. An evaluation between them would add a rounding of the clock.
TEST_CASE("the digest does not depend on evaluation where nodes fail either", "[determinism][slow]") {
  const std::string toml = shipped("rolling_restart.toml");
  for (const char* model : {"fluid", "nic"}) {
    INFO(model);
    std::set<std::string> digests;
    for (const char* every : {"3ms", "30ms", "77ms", "1s"})
      digests.insert(
          digest(toml, {"--set", "cluster.network.latency=1ms", "--set", "seed=38", "--set",
                        "training.epochs=1", "--set", "consistency.model=asp", "--set",
                        "training.evaluate_every="s + every, "--set", "cluster.network.model="s + model}));
    CHECK(digests.size() == 1);
  }
}

TEST_CASE("the digest does not depend on memory or the environment", "[determinism][slow]") {
  const bool can_fix_addresses = process({"setarch", "-R", "true"}).code == 0;
  for (const std::string& toml : scenarios()) {
    const std::string expected = digest(toml);
    INFO(toml);
    CHECK(digest(toml, {}, {"MALLOC_PERTURB_=165"}) == expected);
    CHECK(digest(toml, {}, {"GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"}) ==
          expected);
    CHECK(digest(toml, {}, {"PADDING=" + std::string(100'000, 'x'), "LC_ALL=de_DE.UTF-8", "TZ=Asia/Tokyo"}) ==
          expected);
    if (can_fix_addresses) CHECK(digest(toml, {}, {}, {"setarch", "-R"}) == expected);
  }
}

TEST_CASE("a second run, and a child of compare, has the digest of the first", "[determinism]") {
  const std::string toml = scenarios()[1];
  const Files files(toml + "[compare]\nseeds = [1, 2]\n");
  const fs::path folder = files.folder.path();
  const std::string first =
      digest_of(psim::test::psim({"run", "scenario.toml", "--json", "--out", "one"}, folder));
  CHECK(digest_of(psim::test::psim({"run", "scenario.toml", "--json", "--out", "one"}, folder)) == first);
  CHECK(digest_of(psim::test::psim({"run", "scenario.toml", "--json", "--out", "one", "--force"}, folder)) ==
        first);
  REQUIRE(psim::test::psim({"compare", "scenario.toml", "--out", "all", "--jobs", "2"}, folder).code == 0);
  std::set<std::string> digests;
  const Json study = Json::parse(std::ifstream(folder / "all" / "study.json"));
  for (const Json& run : study["runs"]) digests.insert(run["digest"]);
  CHECK(digests.size() == 2);
  CHECK(digests.contains(first));
  // The resolved scenario that a run leaves behind is the same run.
  CHECK(digest_of(psim::test::psim({"run", "one/scenario.toml", "--json"}, folder)) == first);
}

TEST_CASE("an axis of seeds may have the field's name", "[determinism]") {
  const auto name = GENERATE("seed", "seeds");
  const Files files(scenarios()[1] + fmt::format("[compare]\n{} = [1, 2]\n", name));
  const fs::path folder = files.folder.path();
  REQUIRE(psim::test::psim({"compare", "scenario.toml", "--out", "all"}, folder).code == 0);
  std::set<int> seeds;
  const Json study = Json::parse(std::ifstream(folder / "all" / "study.json"));
  for (const Json& run : study["runs"]) seeds.insert(run["seed"].get<int>());
  CHECK(seeds == std::set{1, 2});
}

TEST_CASE("the digest differs when one weight does", "[determinism]") {
  const std::string toml = shipped("worked_example.toml");
  const std::string expected = digest(toml);
  CHECK(digest(replaced(toml, "[1.6, 1.7, 1.8, 1.9, 2.0]", "[1.6, 1.7, 1.8, 1.9, 2.0000000000000004]")) !=
        expected);
  // Column 1 meets an input that is zero: its weight changes no other number, no loss and no event.
  CHECK(digest(replaced(toml, "[[0.1, 0.2, 0.3", "[[0.1, 0.20000000000000004, 0.3")) != expected);
  const std::string drawn = fmt::format(fmt::runtime(digits), "", "model = \"bsp\"", 1);
  CHECK(digest(drawn) != digest("seed = 2\n" + drawn));
  CHECK(digest(drawn) == digest("seed = 1\n" + drawn));
}

TEST_CASE("the digest differs when one event does", "[determinism]") {
  const std::string toml = shipped("worked_example.toml");
  std::set<std::string> digests{digest(toml)};
  for (const char* change :
       {"cluster.network.latency=50.0000001us", "training.steps=6", "cluster.network.header=1B",
        "compute.time=1ms", "consistency.model=asp", "training.duration=1ms"}) {
    INFO(change);
    CHECK(digests.insert(digest(toml, {"--set", change})).second);
  }
}
