// Recomputation and pipelines over the devices of one machine, in the shipped binary: closed forms of time,
// memory and bits.
#include <fmt/format.h>

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr int steps = 5;

// Devices of 1 Gflop/s; a gradient of one sample takes 3e7 operations, a third of them forward.
Json pipeline(int stages, int micro_batches, const std::string& device, const std::string& more = "",
              int batch = 24) {
  return phantom(1'000'000)
      .set({"architecture.kind=model-parallel", "architecture.over=devices", "model.flops_per_sample=3e7",
            "model.activations=250_000", "model.activations_per_sample=12MB", "cluster.worker.speed=1Gf"})
      .set("architecture.micro_batches", micro_batches)
      .set("training.batch_size", batch)
      .set("training.steps", steps)
      .with("training", more)
      .set("cluster.worker.device.count", stages)
      .with("cluster.worker.device", device)
      .run();
}

double step_time(const Json& run) { return run["sim_time_s"].get<double>() / steps; }

const std::string no_bus = "bus_bandwidth = \"1e20Bps\"\nbus_latency = \"0s\"\n";

Json worker(const std::string& architecture, const std::string& training, const std::string& messages = "") {
  return ScenarioBuilder({"model.layers=[64, 40, 30, 20, 10]", "training.batch_size=16", "cluster.workers=2",
                          "cluster.worker.speed=1Mf", "cluster.network.latency=0s",
                          "cluster.network.bandwidth=1e20Bps", "cluster.network.share_spread=0.0"})
      .with("architecture", architecture)
      .set("training.steps", steps)
      .with("training", training)
      .with("messages", messages)
      .run();
}

}  // namespace

TEST_CASE("S devices with M micro-batches take (M + S - 1) parts of a step", "[oracle][memory]") {
  for (const auto& [stages, parts] : {std::pair{1, 4}, {2, 4}, {4, 8}, {3, 12}}) {
    const Json run = pipeline(stages, parts, no_bus);
    const double whole = 24 * 3e7 / 1e9;  // of the machine's batch on one device
    CHECK(step_time(run) == Approx(whole / (stages * parts) * (parts + stages - 1)).epsilon(1e-7));
    CHECK(run["workers"].size() == static_cast<std::size_t>(stages));
    CHECK(run["updates"] == steps);
    long samples = 0;
    for (const Json& stage : run["workers"]) samples += stage["samples"].get<long>();
    CHECK(samples == steps * 24);
  }
}

// One micro-batch: every border is crossed with 24 x 250 kvalues, forward and back.
TEST_CASE("activations and errors cross the bus", "[oracle][memory]") {
  const double computing = 24 * 3e7 / 1e9, bytes = 24 * 1e6;
  const Json ports = pipeline(3, 1, "bus_bandwidth = \"1GBps\"\nbus_latency = \"1ms\"\n");
  CHECK(step_time(ports) == Approx(computing + 4 * (bytes / 1e9 + 1e-3)).epsilon(1e-3));
  const Json links =
      pipeline(3, 1, "bus_bandwidth = \"1GBps\"\nbus_latency = \"1ms\"\npeer_bandwidth = \"10GBps\"\n");
  CHECK(step_time(links) == Approx(computing + 4 * (bytes / 10e9 + 1e-3)).epsilon(1e-3));
  // Up to the host's memory and down again.
  const Json host = pipeline(3, 1, "bus_bandwidth = \"1GBps\"\nbus_latency = \"1ms\"\npeers = \"host\"\n");
  CHECK(step_time(host) == Approx(computing + 4 * 2 * (bytes / 1e9 + 1e-3)).epsilon(1e-3));
}

TEST_CASE("a device of a pipeline is as fast as it is", "[oracle][memory]") {
  const Json run = pipeline(2, 1, no_bus + "speeds = [\"1Gf\", \"4Gf\"]");
  CHECK(step_time(run) == Approx(24 * 3e7 / 1e9 / 2 * (1 + 0.25)).epsilon(1e-7));
}

TEST_CASE("a stage recomputes before it goes backward", "[oracle][memory]") {
  const Json run = pipeline(4, 8, no_bus, "recompute = true");
  CHECK(step_time(run) == Approx(24 * 3e7 / 1e9 * 4 / 3 / 32 * 11).epsilon(1e-7));
  // Each stage has a quarter of 12 MB of a sample, 1 MB of which are its inputs; micro-batches have 3.
  CHECK(run["memory"][1]["parts"]["activations"] == 24 * 1'000'000LL + 3 * 2'000'000LL);
  CHECK(pipeline(4, 8, no_bus)["memory"][1]["parts"]["activations"] == 24 * 3'000'000LL);
}

TEST_CASE("a pipeline over devices trains as one worker does", "[oracle][memory]") {
  const ScenarioBuilder training(
      {"training.batch_size=16", "training.steps=20", "model.layers=[64, 32, 16, 10]", "cluster.workers=1"});
  const Json one = training.set({"cluster.servers=1"}).run();
  const Json devices = training
                           .set({"architecture.kind=model-parallel", "architecture.over=devices",
                                 "cluster.worker.device.count=3"})
                           .run();
  CHECK(devices["model"]["weights"] == one["model"]["weights"]);
  CHECK(devices["final"]["loss"] == one["final"]["loss"]);
}

TEST_CASE("recomputation costs a forward pass and no bit", "[oracle][memory]") {
  const std::string architecture =
      GENERATE(R"(kind = "parameter-server")", R"(kind = "all-reduce")", R"(kind = "model-parallel")");
  const Json with = worker(architecture, "recompute = true"), without = worker(architecture, "");
  CHECK(with["model"]["weights"] == without["model"]["weights"]);
  CHECK(with["workers"][0]["device_bytes"] <= without["workers"][0]["device_bytes"]);
  // Products: 64 * 40 + 40 * 30 + 30 * 20 + 20 * 10 forward, all again for weights, all but the first for
  // errors.
  const double forward = 4560, all = 2 * 4560 + 2000;
  if (architecture.find("model") != std::string::npos) return;  // bubbles
  CHECK(step_time(with) / step_time(without) == Approx(1 + forward / all).epsilon(1e-6));
  CHECK(with["memory"][0]["parts"]["activations"] == 16 * 4 * (64 + 30 + 40));
  CHECK(without["memory"][0]["parts"]["activations"] == 16 * 4 * (64 + 40 + 30 + 20 + 10));
}

TEST_CASE("with overlap recomputation takes as long", "[oracle][memory]") {
  const std::string overlap = "unit = \"array\"\noverlap = true";
  const std::string server = R"(kind = "parameter-server")";
  CHECK(step_time(worker(server, "recompute = true", overlap)) ==
        Approx(step_time(worker(server, "recompute = true"))).epsilon(1e-6));
}

TEST_CASE("a larger batch takes more of the device's memory", "[oracle][memory]") {
  const auto bytes = [](int batch) {
    return phantom(1000)
        .set({"model.activations_per_sample=1MB", "training.steps=1"})
        .set("training.batch_size", batch)
        .run()["workers"][0]["device_bytes"]
        .get<long>();
  };
  CHECK(bytes(128) == 8000 + 128'000'000);
  CHECK(bytes(4096) == 8000 + 4096'000'000L);
}
