// Several devices per worker in the shipped binary, on an ideal network: a step takes the largest part of
// the batch on its device, and the copies of weights and gradients (docs/results.md).

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr double step = 0.5;     // of a batch on one device, in seconds
constexpr double model = 400e6;  // bytes
constexpr int batch = 30, steps = 7;

Json run(const std::string& devices, const std::string& more = "") {
  return phantom(100'000'000)
      .set({"compute.time=500ms", "cluster.workers=3", "cluster.network.latency=0s",
            "cluster.network.bandwidth=1e20Bps", "cluster.network.share_spread=0.0"})
      .set("training.batch_size", batch)
      .set("training.steps", steps)
      .with("training", more)
      .with("cluster.worker.device", devices)
      .run();
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

// One array, which device 0 sums: it takes three gradients through its port, and so does it send three.
TEST_CASE("sums on a device: one copy over the bus, the others from port to port", "[devices]") {
  const std::string four = "count = 4\nbus_bandwidth = \"8GBps\"\nbus_latency = \"1ms\"\n";
  const Json device = run(four + "aggregate = \"device\"\npeer_bandwidth = \"40GBps\"");
  CHECK(seconds_per_step(device) ==
        Approx(step * 8 / 30 + 2 * (model / 8e9 + 3 * model / 40e9 + 4e-3)).epsilon(1e-9));
  CHECK(device["workers"][1]["bus_bytes"] == steps * 2 * 400'000'000LL);
  CHECK(device["workers"][1]["peer_bytes"] == steps * 6 * 400'000'000LL);
  CHECK(device["workers"][1]["host_bytes"] == 2 * 400'000'000LL);
  CHECK(device["workers"][1]["device_bytes"] == 6 * 400'000'000LL);
  // Without links of their own they use the bus's switch, and still leave the host's link alone.
  const Json over_switch = run(four + "aggregate = \"device\"");
  CHECK(over_switch["workers"][1]["bus_bytes"] == steps * 2 * 400'000'000LL);
  CHECK(seconds_per_step(over_switch) == Approx(step * 8 / 30 + 2 * (4 * model / 8e9 + 4e-3)).epsilon(1e-9));
  // Without peer access a copy goes up and down again.
  const Json over_host = run(four + "aggregate = \"device\"\npeers = \"host\"");
  CHECK(over_host["workers"][1]["bus_bytes"] == steps * 2 * 7 * 400'000'000LL);
  CHECK(seconds_per_step(over_host) == Approx(step * 8 / 30 + 2 * 7 * (model / 8e9 + 1e-3)).epsilon(1e-9));
}

TEST_CASE("arrays are summed on all devices side by side", "[devices]") {
  const auto with_arrays = [](const std::string& aggregate) {
    return ScenarioBuilder(
               {"model.kind=phantom", "model.arrays=[25_000_000, 25_000_000, 25_000_000, 25_000_000]",
                "training.batch_size=4", "compute.time=500ms", "cluster.workers=2",
                "cluster.network.latency=0s", "cluster.network.bandwidth=1e20Bps",
                "cluster.network.share_spread=0.0", "cluster.worker.device.count=4",
                "cluster.worker.device.bus_bandwidth=8GBps", "cluster.worker.device.bus_latency=0s"})
        .set("training.steps", steps)
        .set("cluster.worker.device.aggregate", aggregate)
        .run();
  };
  const Json host = with_arrays("host"), device = with_arrays("device");
  CHECK(seconds_per_step(host) == Approx(step / 4 + 2 * 4 * model / 8e9).epsilon(1e-9));
  CHECK(seconds_per_step(device) == Approx(step / 4 + 2 * 1.75 * model / 8e9).epsilon(1e-9));
  CHECK(device["workers"][0]["device_bytes"] == 3 * 400'000'000LL);
  CHECK(device["digest"] != host["digest"]);
}

// The optimizer takes 20 operations for each of 10^8 values: 0.2 s at 10 Gflop/s.
TEST_CASE("the optimizer on the host or on the devices", "[devices]") {
  const auto local = [](const std::string& update) {
    return phantom(100'000'000)
        .set({"training.batch_size=4", "training.update=worker", "training.local_steps=3",
              "compute.time=500ms", "cluster.workers=2", "cluster.network.latency=0s",
              "cluster.network.bandwidth=1e20Bps", "cluster.network.share_spread=0.0",
              "cluster.worker.speed=10Gf", "cluster.worker.flops_per_value=20",
              "cluster.worker.device.count=2", "cluster.worker.device.speeds=40Gf",
              "cluster.worker.device.bus_bandwidth=8GBps", "cluster.worker.device.bus_latency=0s",
              "cluster.worker.device.aggregate=device"})
        .set("training.steps", steps)
        .set("cluster.worker.device.update", update)
        .run();
  };
  const Json host = local("host"), device = local("device");
  const double computing = 3 * step / 2 / 4, copy = model / 8e9;
  CHECK(seconds_per_step(host) == Approx(computing + 0.2 + 3 * 2 * (copy + copy)).epsilon(1e-9));
  CHECK(seconds_per_step(device) == Approx(computing + 0.05 + 2 * copy + 3 * 2 * copy).epsilon(1e-9));
  CHECK(host["workers"][0]["bus_bytes"] == steps * 6 * 400'000'000LL);
  CHECK(device["workers"][0]["bus_bytes"] == steps * 2 * 400'000'000LL);
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
    return ScenarioBuilder({"model.precision=float64", "training.steps=20", "cluster.workers=2"})
        .set("cluster.worker.device.count", devices)
        .run();
  };
  const Json one = train(1), four = train(4);
  CHECK(four["digest"] != one["digest"]);
  CHECK(four["final"]["loss"].get<double>() == Approx(one["final"]["loss"].get<double>()).epsilon(1e-12));
  CHECK(train(4)["digest"] == four["digest"]);
}
