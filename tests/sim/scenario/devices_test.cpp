// A worker's devices: who takes what part of a batch, what copies cost and how much memory a sum needs
// (docs/results.md); and the gradient of the parts is that of the batch.
#include "sim/scenario/spec/devices.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/roles/local_work.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr double model = 4e6;  // bytes

Scenario with_devices(std::int64_t count, DeviceAggregation aggregate) {
  Scenario scenario;
  scenario.model = {.kind = ModelKind::phantom, .parameters = 1'000'000};
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
  DeviceSpec devices{.bus_latency = {1e-3}};
  CHECK(device_copies(devices, 8e6).seconds == 0);
  CHECK(device_copies(devices, 8e6).bus_bytes == 0);
  devices.count = 4;
  CHECK(device_copies(devices, 8e6).seconds == Approx(4 * (8e6 / 16e9 + 1e-3)).epsilon(1e-14));
  devices.aggregate = DeviceAggregation::device;  // peers over the bus
  CHECK(device_copies(devices, 8e6).seconds == Approx(4 * (8e6 / 16e9 + 1e-3)).epsilon(1e-14));
  CHECK(device_copies(devices, 8e6).bus_bytes == 32e6);
  devices.peer_bandwidth = BytesPerSecond{80e9};
  CHECK(device_copies(devices, 8e6).seconds == Approx(8e6 / 16e9 + 3 * 8e6 / 80e9 + 4e-3).epsilon(1e-14));
  CHECK(device_copies(devices, 8e6).bus_bytes == 8e6);
  devices.aggregate = DeviceAggregation::host;
  CHECK(device_copies(devices, 8e6).bus_bytes == 32e6);
}

TEST_CASE("memory of sums on the host and on a device", "[devices]") {
  const DeviceMemory host = device_memory(with_devices(4, DeviceAggregation::host));
  CHECK(host.host == 5 * model);
  CHECK(host.device == 2 * model);
  const DeviceMemory device = device_memory(with_devices(4, DeviceAggregation::device));
  CHECK(device.host == 2 * model);
  CHECK(device.device == 6 * model);
  for (const auto where : {DeviceAggregation::host, DeviceAggregation::device}) {
    CHECK(device_memory(with_devices(1, where)).host == 2 * model);
    CHECK(device_memory(with_devices(1, where)).device == 2 * model);
  }
}

TEST_CASE("every local step goes over the bus, those of a warm-up too", "[devices]") {
  Scenario scenario = with_devices(2, DeviceAggregation::host);
  CHECK(bus_bytes(scenario, 0) == 0);
  CHECK(bus_bytes(scenario, 5) == 5 * 2 * 2 * model);
  scenario.training.local_steps = 3;
  scenario.training.warmup_steps = 7;
  CHECK(bus_bytes(scenario, 5) == (7 + 4 * 3) * 2 * 2 * model);
}

TEST_CASE("the gradient of a batch in parts is that of the batch, to rounding", "[devices]") {
  const auto [precision, tolerance] =
      GENERATE(std::pair{Precision::float64, 1e-12}, std::pair{Precision::float32, 1e-5});
  const DataSplit data = load_data({.source = DataSource::digits}, 1, {});
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
