#include "sim/scenario/spec/devices.hpp"

#include <algorithm>
#include <numeric>

namespace psim {
namespace {

// Copies in both directions, for `bytes` of the model, in `clocks` clocks with `steps` local steps in all.
DeviceCopies copies_of(const Scenario& scenario, double bytes, double clocks, double steps) {
  const bool stays =
      updates_on_devices(scenario) && scenario.cluster.worker_devices.aggregate == DeviceAggregation::device;
  DeviceCopies all = (2 * (stays ? clocks : steps)) * host_copies(scenario, bytes);
  return all += (2 * steps) * peer_copies(scenario, bytes);
}

}  // namespace

std::vector<std::int64_t> device_parts(std::int64_t samples, std::int64_t devices) {
  std::vector<std::int64_t> parts(static_cast<std::size_t>(devices), samples / devices);
  for (std::int64_t d = 0; d < (samples % devices); ++d) ++parts[static_cast<std::size_t>(d)];
  return parts;
}

double devices_time_ratio(const Scenario& scenario, std::size_t worker) {
  const DeviceSpec& devices = scenario.cluster.worker_devices;
  if (scenario.architecture.is_on_one_machine()) {
    const FlopsPerSecond usual = scenario.cluster.worker.speed.of(0);
    return usual.value / devices.speed_of(worker, usual).value;
  }
  const FlopsPerSecond usual = scenario.cluster.worker.speed.of(worker);
  const auto batch = static_cast<double>(scenario.training.batch_size);
  const std::vector<std::int64_t> parts = device_parts(scenario.training.batch_size, devices.count);
  double slowest = 0;
  for (std::size_t d = 0; d < parts.size(); ++d) {
    const double speed = devices.speed_of(d, usual).value;
    slowest = std::max(slowest, static_cast<double>(parts[d]) / batch * (usual.value / speed));
  }
  return slowest;
}

bool updates_on_devices(const Scenario& scenario) {
  const DeviceSpec& devices = scenario.cluster.worker_devices;
  return scenario.training.update == UpdateAt::worker && devices.update == DeviceUpdate::device &&
         devices.bus().has_value();
}

double slowest_device(const Scenario& scenario, std::size_t worker) {
  const DeviceSpec& devices = scenario.cluster.worker_devices;
  const FlopsPerSecond usual = scenario.cluster.worker.speed.of(worker);
  double slowest = devices.speed_of(0, usual).value;
  for (std::size_t d = 1; d < static_cast<std::size_t>(devices.count); ++d)
    slowest = std::min(slowest, devices.speed_of(d, usual).value);
  return slowest;
}

std::vector<double> shares_of_sums(const Scenario& scenario) {
  std::vector<std::size_t> sizes;
  for (const ParameterArray& array : parameter_arrays(scenario.model)) sizes.push_back(array.range.count);
  std::ranges::stable_sort(sizes, std::greater{});
  std::vector<std::size_t> values(static_cast<std::size_t>(scenario.cluster.worker_devices.count), 0);
  for (const std::size_t size : sizes) *std::ranges::min_element(values) += size;
  const auto all = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  std::vector<double> shares;
  for (const std::size_t one : values) shares.push_back(static_cast<double>(one) / all);
  return shares;
}

DeviceCopies& DeviceCopies::operator+=(const DeviceCopies& other) {
  seconds += other.seconds;
  bus_bytes += other.bus_bytes;
  peer_bytes += other.peer_bytes;
  return *this;
}

DeviceCopies operator*(double times, const DeviceCopies& one) {
  return {times * one.seconds, times * one.bus_bytes, times * one.peer_bytes};
}

DeviceCopies host_copies(const Scenario& scenario, double bytes) {
  const DeviceSpec& devices = scenario.cluster.worker_devices;
  const std::optional<BytesPerSecond> bus = devices.bus();
  if (!bus) return {};
  const bool sums_here = devices.aggregate == DeviceAggregation::host;
  const double copies = sums_here ? static_cast<double>(devices.count) : 1;
  return {.seconds = copies * bytes / bus->value + copies * devices.bus_latency.value,
          .bus_bytes = copies * bytes};
}

DeviceCopies peer_copies(const Scenario& scenario, double bytes) {
  const DeviceSpec& devices = scenario.cluster.worker_devices;
  const std::optional<BytesPerSecond> bus = devices.bus();
  if (!bus || devices.count == 1 || devices.aggregate == DeviceAggregation::host) return {};
  const double peers = static_cast<double>(devices.count) - 1;
  if (devices.peers == PeerAccess::host) {  // through host memory
    return {.seconds = 2 * peers * (bytes / bus->value + devices.bus_latency.value),
            .bus_bytes = 2 * peers * bytes};
  }
  // A port is full duplex. The device that sums a share receives it from all other devices, and sends them
  // its part of every other share.
  double busiest = 0;
  for (const double share : shares_of_sums(scenario)) busiest = std::max({busiest, peers * share, 1 - share});
  return {.seconds = busiest * bytes / devices.port().value + peers * devices.bus_latency.value,
          .peer_bytes = peers * bytes};
}

DeviceCopies copies_of_clock(const Scenario& scenario, double bytes, std::int64_t local_steps) {
  return copies_of(scenario, bytes, 1, static_cast<double>(local_steps));
}

DeviceCopies copies_of_clocks(const Scenario& scenario, std::int64_t clocks) {
  if (clocks == 0) return {};
  const TrainingSpec& training = scenario.training;
  const double first = static_cast<double>(training.local_steps_of(0));
  return copies_of_steps(scenario, static_cast<double>(clocks),
                         first + static_cast<double>((clocks - 1) * training.local_steps));
}

DeviceCopies copies_of_steps(const Scenario& scenario, double clocks, double steps) {
  const double model = static_cast<double>(parameter_count(scenario.model)) *
                       static_cast<double>(bytes_per_value(scenario.model.precision));
  return copies_of(scenario, model, clocks, steps);
}

}  // namespace psim
