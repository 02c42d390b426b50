// Presets in the shipped binary: each runs, and is nothing but its fields.

#include <fstream>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

const ScenarioBuilder small =
    ScenarioBuilder({"model.layers=[64, 16, 10]", "training.batch_size=16", "training.steps=4",
                     "cluster.workers=4", "cluster.servers=2", "compute.distribution=exponential"});

std::string resolved(const ScenarioBuilder& scenario) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << scenario.toml();
  const Outcome check = psim::test::psim({"check", "scenario.toml"}, folder.path());
  REQUIRE(check.code == 0);
  return check.out;
}

}  // namespace

TEST_CASE("a run under a preset has the digest of the run of its resolved fields alone", "[presets][slow]") {
  std::set<std::string> digests;
  for (const std::string preset :
       {"none", "ps-lite", "mxnet-dist_sync", "mxnet-dist_async", "mxnet-dist_sync_device",
        "mxnet-dist_async_device", "tf1-syncreplicas", "bosen-ssppush", "angel-ssp", "byteps", "osdi14"}) {
    INFO(preset);
    const std::string line = "preset = \"" + preset + "\"\n";
    const Json run = small.set("preset", preset).run();
    std::string fields = resolved(small.set("preset", preset));
    REQUIRE(fields.find(line) != std::string::npos);
    fields.erase(fields.find(line), line.size());
    CHECK(ScenarioBuilder::from(fields).run()["digest"] == run["digest"]);
    digests.insert(run["digest"].get<std::string>());
  }
  CHECK(digests.size() == 9);  // with one device it does not matter where sums are made
}

TEST_CASE("tf1-syncreplicas learns what bsp learns, and throws nothing away", "[presets]") {
  const ScenarioBuilder scenario =
      small.set({"preset=tf1-syncreplicas", "training.evaluate_every=1 updates"});
  const Json run = scenario.run(), bsp = scenario.set("consistency.model", "bsp").run();
  CHECK(run["pushes"]["dropped"] == 0);
  REQUIRE(run["curve"].size() == bsp["curve"].size());
  for (std::size_t i = 0; i < bsp["curve"].size(); ++i)
    CHECK(run["curve"][i]["loss"] == bsp["curve"][i]["loss"]);
}

TEST_CASE("presets are an axis, and a field of the file that one gives no meaning is left out of its runs",
          "[presets]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml")
      << small.toml()
      << "[consistency]\nstaleness = 2\n[compare]\npreset = [\"bosen-ssppush\", \"mxnet-dist_async\"]\n";
  const Outcome compare = psim::test::psim({"compare", "scenario.toml", "--json"}, folder.path());
  INFO(compare.err);
  REQUIRE(compare.code == 0);
  const Json runs = Json::parse(compare.out)["runs"];
  REQUIRE(runs.size() == 2);
  CHECK(runs[0]["arm"] == "bosen-ssppush");
  CHECK(runs[0]["consistency"] == "ssp");
  CHECK(runs[1]["arm"] == "mxnet-dist_async");
  CHECK(runs[1]["consistency"] == "asp");
}
