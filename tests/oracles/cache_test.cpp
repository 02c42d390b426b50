// A cache of weights with clocks: how often a worker pulls, what it reads, and bounds of its own for each
// layer.
#include <map>

#include "tests/oracles/ideal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_file.hpp"

using namespace psim::test;

namespace {

std::string ssp(int s, bool cache, const std::string& more = "", int steps = 60,
                const std::string& speeds = "") {
  return fmt::format(
      "seed = 3\n[model]\nkind = \"phantom\"\narrays = [1000, 10]\n[training]\nbatch_size = 1\nsteps = {}\n"
      "[consistency]\nmodel = \"ssp\"\nstaleness = {}\ncache = {}\n{}\n[compute]\ntime = \"10ms\"\n"
      "[cluster]\nworkers = 4\n[cluster.network]\nlatency = \"1us\"\nbandwidth = \"1000Gbps\"\n{}",
      steps, s, cache, more, speeds);
}

// Of worker 0.
std::map<std::int64_t, int> pulls_of_shards(const TracedRun& run) {
  std::map<std::int64_t, int> pulls;
  for (const RecordedEvent& e : run.events) {
    if (e.is("sent", "pull") && e.node == 2) ++pulls[e["shard"]];
  }
  return pulls;
}

std::int64_t weights_bytes(const Json& run) { return run["bytes_by_kind"].value("weights", std::int64_t{0}); }

}  // namespace

TEST_CASE("with a cache a worker pulls about every s + 1 clocks, and the bytes fall as much",
          "[oracle][cache]") {
  const int steps = 60;
  const std::int64_t all = weights_bytes(run_toml(ssp(3, false)));
  for (const int s : {1, 2, 4, 9, 19}) {
    INFO("s = " << s);
    const TracedRun run = trace_toml(ssp(s, true));
    const int pulls = pulls_of_shards(run)[0] - 1;  // the last one, by which it says that it is through
    // A copy that is pulled at clock c lacks at most the pushes of clock c - 1, so it does for s or s + 1
    // clocks.
    CHECK(pulls >= steps / (s + 1));
    CHECK(pulls <= steps / s + 1);
    CHECK(weights_bytes(run.summary) * s <= all + 2 * s * all / steps);
    CHECK(run.summary["clock_gap"]["max"] <= s);
  }
  // Without, every bound moves the same bytes.
  CHECK(weights_bytes(run_toml(ssp(19, false))) == all);
}

TEST_CASE("a bound of zero leaves nothing to keep: a cache is bsp to the bit", "[oracle][cache]") {
  const std::string text = ssp(0, true);
  std::string bsp = ssp(0, false);
  CHECK(run_toml(text)["digest"] == run_toml(bsp)["digest"]);
}

TEST_CASE("fast workers still stop at the bound", "[oracle][cache]") {
  const std::string slow = "[[straggler]]\nworkers = [3]\nslowdown = 3.0\n";
  for (const int s : {1, 4}) {
    const Json with = run_toml(ssp(s, true, "", 60, slow)), without = run_toml(ssp(s, false, "", 60, slow));
    CHECK(with["clock_gap"]["max"] == s);
    // The slow worker computes 60 times 30 ms; what it does not pull it need not wait for.
    CHECK(with["sim_time_s"].get<double>() >= 1.8);
    CHECK(with["sim_time_s"].get<double>() < without["sim_time_s"].get<double>());
  }
}

TEST_CASE("each layer is pulled as often as its own bound demands", "[oracle][cache]") {
  const std::string bounds =
      "array = [{layer = 0, staleness = 9}, {layer = 1, staleness = 1}]\n[messages]\nunit = \"array\"";
  const TracedRun run = trace_toml(ssp(3, true, bounds));
  std::map<std::int64_t, int> pulls = pulls_of_shards(run);
  CHECK(pulls[0] - 1 >= 6);
  CHECK(pulls[0] - 1 <= 7);
  CHECK(pulls[1] - 1 >= 30);
  CHECK(run.summary["clock_gap"]["max"] <= 1);  // the strictest one holds a worker back
  CHECK(run.summary["shard_bounds"][0]["staleness"] == 9);
}

TEST_CASE("one worker reads its own pushes in its copy: the curve is that of fresh weights",
          "[oracle][cache]") {
  const auto curve = [](const char* consistency) {
    return run_toml(
        fmt::format("seed = 2\n[model]\nlayers = [64, 8, 10]\nprecision = \"float64\"\n[training]\n"
                    "batch_size = 16\nsteps = 40\nlearning_rate = 0.1\nevaluate_every = \"1 update\"\n"
                    "[consistency]\n{}\n[cluster]\nworkers = 1\n",
                    consistency))["curve"];
  };
  const Json fresh = curve("model = \"ssp\"\nstaleness = 1"),
             kept = curve("model = \"ssp\"\nstaleness = 7\ncache = true");
  REQUIRE(fresh.size() == kept.size());
  for (std::size_t i = 0; i < fresh.size(); ++i)
    CHECK(kept[i]["loss"].get<double>() == Approx(fresh[i]["loss"].get<double>()).epsilon(1e-9));
}
