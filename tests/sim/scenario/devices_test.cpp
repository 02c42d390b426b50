// A worker's devices: who takes what part of a batch, and what copies cost (docs/results.md); and the
// gradient of the parts is that of the batch.
#include "sim/scenario/spec/devices.hpp"
#include "model/dataset.hpp"
#include "model/learner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/nodes/worker/local_work.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr double model = 4e6;  // bytes

Scenario with_devices(std::int64_t count, DeviceAggregation aggregate) {
  Scenario scenario;
  scenario.model = {.kind = ModelKind("phantom"), .parameters = 1'000'000};
  scenario.cluster.worker_devices.count = count;
  scenario.cluster.worker_devices.aggregate = aggregate;
  return scenario;
}

std::vector<double> list(const Values& values) {
  return with_scalar(values.precision(), [&](auto zero) {
    const auto span = values.as<decltype(zero)>();
    return std::vector<double>(span.begin(), span.end());
  });
}

// The largest difference between two gradients, over the largest value.
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    apart = std::max(apart, std::abs(a[i] - b[i]));
  }
  return apart / largest;
}

}  // namespace

TEST_CASE("the first devices take the remainder of a batch", "[devices]") {
  CHECK(device_parts(10, 4) == std::vector<std::int64_t>{3, 3, 2, 2});
  CHECK(device_parts(8, 4) == std::vector<std::int64_t>{2, 2, 2, 2});
  CHECK(device_parts(7, 1) == std::vector<std::int64_t>{7});
}

TEST_CASE("a step ends with the slowest device", "[devices]") {
  Scenario scenario = with_devices(1, DeviceAggregation::host);
  scenario.training.batch_size = 10;
  CHECK(devices_time_ratio(scenario, 0) == 1);
  scenario.cluster.worker_devices.count = 4;
  CHECK(devices_time_ratio(scenario, 0) == 0.3);
  scenario.cluster.worker.speed.values = {FlopsPerSecond{8e9}};
  scenario.cluster.worker_devices.speeds.values = {{16e9}, {8e9}, {2e9}, {8e9}};
  CHECK(devices_time_ratio(scenario, 0) == Approx(0.2 * 4).epsilon(1e-15));
}

TEST_CASE("without a bus nothing is copied, and sums on the host take every copy over it", "[devices]") {
  Scenario s = with_devices(1, DeviceAggregation::host);
  DeviceSpec& devices = s.cluster.worker_devices;
  devices.bus_latency = {1e-3};
  CHECK(host_copies(s, 8e6).seconds == 0);
  CHECK(copies_of_clock(s, 8e6, 1).bus_bytes == 0);
  devices.count = 4;
  CHECK(host_copies(s, 8e6).seconds == Approx(4 * (8e6 / 16e9 + 1e-3)).epsilon(1e-14));
  CHECK(host_copies(s, 8e6).bus_bytes == 32e6);
  CHECK(peer_copies(s, 8e6).seconds == 0);
  CHECK(copies_of_clock(s, 8e6, 3).bus_bytes == 3 * 2 * 32e6);
}

TEST_CASE("sums on devices: one copy on the host's link, the others from port to port", "[devices]") {
  Scenario s = with_devices(4, DeviceAggregation::device);
  DeviceSpec& devices = s.cluster.worker_devices;
  devices.bus_latency = {1e-3};
  CHECK(host_copies(s, 8e6).seconds == Approx(8e6 / 16e9 + 1e-3).epsilon(1e-14));
  CHECK(host_copies(s, 8e6).bus_bytes == 8e6);
  // One array: one device takes three gradients through its port.
  CHECK(peer_copies(s, 8e6).seconds == Approx(3 * 8e6 / 16e9 + 3e-3).epsilon(1e-14));
  CHECK(peer_copies(s, 8e6).peer_bytes == 3 * 8e6);
  CHECK(peer_copies(s, 8e6).bus_bytes == 0);
  devices.peer_bandwidth = BytesPerSecond{80e9};
  CHECK(peer_copies(s, 8e6).seconds == Approx(3 * 8e6 / 80e9 + 3e-3).epsilon(1e-14));
  // Four equal arrays: each device sums one, so every port is as busy.
  s.model.phantom_arrays = {250'000, 250'000, 250'000, 250'000};
  CHECK(shares_of_sums(s) == std::vector<double>{0.25, 0.25, 0.25, 0.25});
  CHECK(peer_copies(s, 8e6).seconds == Approx(0.75 * 8e6 / 80e9 + 3e-3).epsilon(1e-14));
  devices.peers = PeerAccess::host;
  CHECK(peer_copies(s, 8e6).seconds == Approx(6 * (8e6 / 16e9 + 1e-3)).epsilon(1e-14));
  CHECK(peer_copies(s, 8e6).bus_bytes == 6 * 8e6);
  CHECK(peer_copies(s, 8e6).peer_bytes == 0);
}

TEST_CASE("the largest arrays first, each where least is",
          "[devices]") {  // MXNet, CommDevice::InitMergeBuffer
  Scenario s = with_devices(3, DeviceAggregation::device);
  s.model.phantom_arrays = {10, 50, 20, 40, 30};  // 50 | 40 10 | 30 20
  CHECK(shares_of_sums(s) == std::vector<double>{50.0 / 150, 50.0 / 150, 50.0 / 150});
}

TEST_CASE("with the optimizer on the devices local steps stay among them", "[devices]") {
  Scenario s = with_devices(4, DeviceAggregation::device);
  s.training.update = UpdateAt::worker;
  CHECK(copies_of_clock(s, 8e6, 5).bus_bytes == 5 * 2 * 8e6);
  s.cluster.worker_devices.update = DeviceUpdate::device;
  CHECK(copies_of_clock(s, 8e6, 5).bus_bytes == 2 * 8e6);
  CHECK(copies_of_clock(s, 8e6, 5).peer_bytes == 5 * 2 * 3 * 8e6);
  s.cluster.worker_devices.aggregate = DeviceAggregation::host;  // every sum is the host's
  CHECK(copies_of_clock(s, 8e6, 5).bus_bytes == 5 * 2 * 4 * 8e6);
}

TEST_CASE("every local step goes over the bus, those of a warm-up too", "[devices]") {
  Scenario scenario = with_devices(2, DeviceAggregation::host);
  CHECK(copies_of_clocks(scenario, 0).bus_bytes == 0);
  CHECK(copies_of_clocks(scenario, 5).bus_bytes == 5 * 2 * 2 * model);
  scenario.training.local_steps = 3;
  scenario.training.warmup_steps = 7;
  CHECK(copies_of_clocks(scenario, 5).bus_bytes == (7 + 4 * 3) * 2 * 2 * model);
}

TEST_CASE("the gradient of a batch in parts is that of the batch, to rounding", "[devices]") {
  const auto [precision, tolerance] =
      GENERATE(std::pair{Precision::float64, 1e-12}, std::pair{Precision::float32, 1e-5});
  const DataSplit data = load_data({.source = DataSource("digits")}, 1, {});
  const auto learner = make_learner({.mlp = {.layers = {64, 16, 10}}, .precision = precision}, data);
  Batch batch(33);
  std::iota(batch.begin(), batch.end(), 5U);
  const auto gradient = [&](std::int64_t devices) {
    Assembly weights({{std::make_shared<Values>(learner->initial_weights(3)), 0, 64 * 16 + 16 + 170}});
    LocalCopy local;
    return list(local_gradient(*learner, &weights, {.batches = {{batch}}, .devices = devices}, local));
  };
  const std::vector<double> one = gradient(1);
  CHECK(one == list(learner->gradient(learner->initial_weights(3), batch)));
  for (const std::int64_t devices : {2, 3, 4, 33, 40}) {
    INFO(devices << " devices");
    const std::vector<double> several = gradient(devices);
    CHECK(difference(one, several) < tolerance);
    CHECK(one != several);  // summed in another order, so the parts were computed
  }
}
