// What messages weigh and when they go, by hand: filters, keys, acknowledgements, and P3's schedule.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr int workers = 3, servers = 2, steps = 10;
constexpr std::int64_t parameters = 64 * 16 + 16 + 16 * 10 + 10, part = parameters / servers;  // 605 each

ScenarioBuilder toml(const std::string& model, const std::string& more,
                     const std::string& consistency = "bsp") {
  return ScenarioBuilder({"training.batch_size=8"})
      .links("1Gbps", "50us")
      .with("model", model)
      .set("training.steps", steps)
      .set("consistency.model", consistency)
      .set("cluster.workers", workers)
      .set("cluster.servers", servers)
      .with(more);
}

const std::string mlp = "layers = [64, 16, 10]";
const std::string mlp64 = mlp + "\nprecision = \"float64\"";

// Payloads of all messages of a kind, in the order in which they arrived at `node` from `peer`.
std::vector<std::int64_t> payloads(const TracedRun& run, const std::string& message, int node, int peer) {
  std::vector<std::int64_t> result;
  for (const RecordedEvent& e : run.events) {
    if (e.is("received", message) && e.node == node && e.peer == peer) result.push_back(e["sent_bytes"]);
  }
  return result;
}

std::vector<std::int64_t> all(std::int64_t bytes) { return std::vector<std::int64_t>(steps, bytes); }

}  // namespace

TEST_CASE("filters on pushes: every push has its scheme's size, and every pull all its bytes",
          "[oracle][filter]") {
  struct Case {
    std::string filter;
    std::int64_t bytes;
  };
  const std::int64_t n = part, k = std::llround(0.1 * static_cast<double>(n));
  for (const Case& c :
       {Case{"kind = \"top-k\"\nfraction = 0.1", 8 * k}, Case{"kind = \"random-k\"\nfraction = 0.1", 8 * k},
        Case{"kind = \"two-bit\"", 4 * ((n + 15) / 16)}, Case{"kind = \"one-bit\"", 8 + (n + 7) / 8},
        Case{"kind = \"fp16\"", 2 * n}, Case{"kind = \"fixed-point\"\nbits = 6", 4 + (6 * n + 7) / 8}}) {
    INFO(c.filter);
    const TracedRun run = toml(mlp, "[[filter]]\n" + c.filter).trace();
    for (int server = 1; server <= servers; ++server) {
      for (int worker = 1 + servers; worker <= servers + workers; ++worker) {
        CHECK(payloads(run, "push", server, worker) == all(c.bytes));
        CHECK(payloads(run, "weights", worker, server) == all(4 * n));
      }
    }
    CHECK(run.summary["bytes_sent"] == workers * servers * steps * (c.bytes + 4 * n));
  }
}

TEST_CASE("filters on pulls: pushes have all their bytes", "[oracle][filter]") {
  const TracedRun run = toml(mlp, "[[filter]]\nkind = \"fp16\"\non = \"pull\"").trace();
  CHECK(payloads(run, "push", 1, 3) == all(4 * part));
  CHECK(payloads(run, "weights", 3, 1) == all(2 * part));
}

TEST_CASE("key caching: keys of 8 bytes travel once, a signature of 8 bytes instead", "[oracle][filter]") {
  // In the limit (8 + 4) / 4 = 3 times fewer bytes with float32, and 2 times with float64.
  for (const std::int64_t value : {4, 8}) {
    INFO(value << " bytes a value");
    const std::string model = value == 4 ? mlp : mlp64, keys = "[messages]\nkeys = \"per-value\"\n";
    const std::int64_t plain = toml(model, keys).run()["bytes_sent"];
    CHECK(plain == workers * servers * 2 * steps * part * (8 + value));
    const TracedRun run = toml(model, keys + "[[filter]]\nkind = \"key-caching\"").trace();
    std::vector<std::int64_t> cached = all(8 + value * part);
    cached[0] += 8 * part;
    CHECK(payloads(run, "push", 2, 4) == cached);
    CHECK(payloads(run, "weights", 4, 2) == cached);
    CHECK(run.summary["bytes_sent"] == workers * servers * 2 * (steps * (8 + value * part) + 8 * part));
  }
}

TEST_CASE("filters work on phantom models, whose sizes are known", "[oracle][filter]") {
  const std::string sizes = fmt::format("kind = \"phantom\"\nparameters = {}", parameters);
  for (const char* filter :
       {"kind = \"top-k\"\nfraction = 0.1", "kind = \"two-bit\"", "kind = \"fp16\"\non = \"both\""}) {
    INFO(filter);
    const std::string more = std::string("[[filter]]\n") + filter;
    CHECK(toml(sizes, more).run()["bytes_sent"] == toml(mlp, more).run()["bytes_sent"]);
  }
}

TEST_CASE("a filter's work adds to the step of the sender", "[oracle][filter]") {
  // 1,000 operations for each of 1,210 values at 10 Gf.
  const std::string filter = "[compute]\ntime = \"10ms\"\n[[filter]]\nkind = \"fp16\"\n";
  const auto step = [](const std::string& more) {
    return toml(mlp, more).run()["workers"][0]["mean_step_s"].get<double>();
  };
  // The second half waits for the first, which is sent when it is ready.
  const double more = step(filter + "flops_per_value = 1000.0\n") - step(filter);
  const double transfer = 2 * part * 3 / 125e6;
  CHECK(more <= 1210 * 1000 / 10e9 + 1e-8);
  CHECK(more >= 1210 * 1000 / 10e9 - transfer);
}

TEST_CASE("acknowledged pushes cost a round trip more per step", "[oracle]") {
  // Two links of 50 us each way. A worker pulls when the acknowledgement is here, not with the push.
  for (const char* consistency : {"bsp", "asp"}) {
    for (const char* unit : {"server", "array"}) {
      INFO(consistency << ", " << unit);
      const std::string model = "kind = \"phantom\"\narrays = [500_000, 500_000]";
      const std::string more = fmt::format("[compute]\ntime = \"10ms\"\n[messages]\nunit = \"{}\"\n", unit);
      const Json plain = toml(model, more, consistency).run();
      const Json acknowledged = toml(model, more + "acknowledge = true\n", consistency).run();
      const auto step = [](const Json& run) { return run["workers"][0]["mean_step_s"].get<double>(); };
      // Three workers' halves of 4 MB at each server, one after the other or together: 48 ms each way.
      if (std::string(consistency) == "bsp")
        CHECK(step(plain) == Approx(0.01 + 2 * (100e-6 + workers * 2e6 / 125e6)).epsilon(1e-8));
      CHECK(step(acknowledged) - step(plain) == Approx(2 * 100e-6).epsilon(1e-5));
      CHECK(acknowledged["messages"].get<int>() - plain["messages"].get<int>() == workers * servers * steps);
      CHECK(acknowledged["bytes_sent"] == plain["bytes_sent"]);
    }
  }
}

TEST_CASE("P3: slices by priority use both directions of a link, a step as a whole one at a time",
          "[oracle]") {
  // 2.2 million values take 70.4 ms each way, and computing takes 10 ms. The last layer has nearly all of
  // them, and its gradient is the first to be ready: as it comes, it stands in the way of the first layers',
  // for which the next forward pass waits.
  const auto step = [](const char* order, int slice) {
    return ScenarioBuilder({"model.kind=phantom", "model.arrays=[100_000, 100_000, 2_000_000]",
                            "training.batch_size=1", "training.steps=20", "messages.unit=array",
                            "messages.overlap=true", "compute.time=10ms", "cluster.workers=1"})
        .links("1Gbps", "0s")
        .set("messages.order", order)
        .set("messages.slice", slice)
        .run()["workers"][0]["mean_step_s"]
        .get<double>();
  };
  const double one_way = 2.2e6 * 4 / 125e6, slice = 50'000 * 4 / 125e6;
  const double p3 = step("priority", 50'000);
  CHECK(p3 >= one_way);  // nothing is faster
  CHECK(p3 <= one_way + 0.01 + 2 * slice);
  CHECK(step("fifo", 50'000) > 1.7 * p3);
  CHECK(step("fifo", 0) > 1.7 * p3);
  CHECK(step("priority", 0) > 1.7 * p3);  // a whole array cannot be overtaken
}
