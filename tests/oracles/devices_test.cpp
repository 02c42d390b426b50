// Several devices per worker in the shipped binary, on an ideal network: a step takes the largest part of
// the batch on its device, and the copies of weights and gradients (docs/results.md).

#include "tests/oracles/ideal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

constexpr double step = 0.5;     // of a batch on one device, in seconds
constexpr double model = 400e6;  // bytes
constexpr int batch = 30, steps = 7;

Json run(const std::string& devices, const std::string& more = "") {
  return run_toml(fmt::format(R"(
[model]
kind = "phantom"
parameters = 100_000_000
[training]
batch_size = {}
steps = {}
{}
[compute]
time = "500ms"
[cluster]
workers = 3
[cluster.network]
latency = "0s"
bandwidth = "1e20Bps"
share_spread = 0.0
[cluster.worker.device]
{}
)",
                              batch, steps, more, devices));
}

double seconds_per_step(const Json& run) { return run["sim_time_s"].get<double>() / steps; }

}  // namespace

TEST_CASE("one device without a bus is the worker itself", "[devices]") {
  const Json plain = run(""), device = run("count = 1\nspeeds = \"10Gf\"");
  CHECK(seconds_per_step(plain) == Approx(step).epsilon(1e-9));
  CHECK(device["digest"] == plain["digest"]);
  CHECK(plain["workers"][0]["bus_bytes"] == 0);
}

TEST_CASE("one device behind a bus: weights go down and a gradient comes up", "[devices]") {
  const Json one = run("bus_bandwidth = \"8GBps\"\nbus_latency = \"1ms\"");
  CHECK(seconds_per_step(one) == Approx(step + 2 * (model / 8e9 + 1e-3)).epsilon(1e-9));
  CHECK(one["workers"][2]["bus_bytes"] == steps * 2 * 400'000'000LL);
}

// 2 * 400 MB over 1 GB/s, and three times the step.
TEST_CASE("slowness of a machine slows its computing and not its copies", "[devices]") {
  const std::string bus = "bus_bandwidth = \"1GBps\"\nbus_latency = \"0s\"\n";
  const std::string straggler = "[[straggler]]\nworkers = [0]\nslowdown = 3\n";
  const std::string how = GENERATE("", "probability = 1.0\n", "from = \"0s\"\n");
  CHECK(seconds_per_step(run(bus + straggler + how)) == Approx(3 * step + 2 * model / 1e9).epsilon(1e-9));
}

TEST_CASE("sums on the host: every device copies over the shared bus", "[devices]") {
  const Json host = run("count = 4\nbus_bandwidth = \"8GBps\"\nbus_latency = \"1ms\"");
  CHECK(seconds_per_step(host) == Approx(step * 8 / 30 + 8 * (model / 8e9 + 1e-3)).epsilon(1e-9));
  for (const Json& worker : host["workers"]) {
    CHECK(worker["bus_bytes"] == steps * 8 * 400'000'000LL);
    CHECK(worker["host_bytes"] == 5 * 400'000'000LL);
    CHECK(worker["device_bytes"] == 2 * 400'000'000LL);
    CHECK(worker["compute_share"].get<double>() == Approx(1).epsilon(1e-9));
  }
}

TEST_CASE("sums on a device: one copy over the bus, the others over links", "[devices]") {
  const std::string four = "count = 4\nbus_bandwidth = \"8GBps\"\nbus_latency = \"1ms\"\n";
  const Json device = run(four + "aggregate = \"device\"\npeer_bandwidth = \"40GBps\"");
  CHECK(seconds_per_step(device) ==
        Approx(step * 8 / 30 + 2 * (model / 8e9 + 3 * model / 40e9 + 4e-3)).epsilon(1e-9));
  CHECK(device["workers"][1]["bus_bytes"] == steps * 2 * 400'000'000LL);
  CHECK(device["workers"][1]["host_bytes"] == 2 * 400'000'000LL);
  CHECK(device["workers"][1]["device_bytes"] == 6 * 400'000'000LL);
  const Json over_bus = run(four + "aggregate = \"device\"");
  CHECK(seconds_per_step(over_bus) == seconds_per_step(run(four)));
}

TEST_CASE("devices of unequal speed: the slowest part decides", "[devices]") {
  const Json uneven =
      run("count = 3\nspeeds = [\"10Gf\", \"2Gf\", \"20Gf\"]\nbus_bandwidth = \"1e20Bps\"\n"
          "bus_latency = \"0s\"");  // a worker has 10 Gflop/s
  CHECK(seconds_per_step(uneven) == Approx(step / 3 * 5).epsilon(1e-9));
}

TEST_CASE("layer by layer as much is copied, and each local step copies again", "[devices]") {
  const std::string two = "count = 2\nbus_bandwidth = \"8GBps\"\nbus_latency = \"0s\"";
  const double copies = 4 * model / 8e9;
  const Json overlap = run(two, "[messages]\nunit = \"array\"\noverlap = true");
  CHECK(seconds_per_step(overlap) == Approx(step / 2 + copies).epsilon(1e-9));
  const Json local = run(two, "local_steps = 3");
  CHECK(seconds_per_step(local) == Approx(3 * (step / 2 + copies)).epsilon(1e-9));
}

TEST_CASE("training on several devices goes the way of one", "[devices]") {
  const auto train = [](int devices) {
    return run_toml(
        fmt::format("[model]\nprecision = \"float64\"\n[training]\nsteps = 20\n[cluster]\n"
                    "workers = 2\n[cluster.worker.device]\ncount = {}\n",
                    devices));
  };
  const Json one = train(1), four = train(4);
  CHECK(four["digest"] != one["digest"]);
  CHECK(four["final"]["loss"].get<double>() == Approx(one["final"]["loss"].get<double>()).epsilon(1e-12));
  CHECK(train(4)["digest"] == four["digest"]);
}
