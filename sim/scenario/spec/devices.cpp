#include "sim/scenario/spec/devices.hpp"

#include <algorithm>

#include "model/mutant.hpp"

namespace psim {
namespace {

double model_bytes(const Scenario& scenario) {
  return static_cast<double>(parameter_count(scenario.model)) *
         static_cast<double>(bytes_per_value(scenario.model.precision));
}

}  // namespace

std::vector<std::int64_t> device_parts(std::int64_t samples, std::int64_t devices) {
  std::vector<std::int64_t> parts(static_cast<std::size_t>(devices), samples / devices);
  for (std::int64_t d = 0; d < (mutant("devices-drop-the-rest") ? 0 : samples % devices); ++d)
    ++parts[static_cast<std::size_t>(d)];
  return parts;
}

double devices_time_ratio(const Scenario& scenario, std::size_t worker) {
  const DeviceSpec& devices = scenario.cluster.worker_devices;
  const double usual = scenario.cluster.worker.speed.of(worker).value;
  const auto batch = static_cast<double>(scenario.training.batch_size);
  const std::vector<std::int64_t> parts = device_parts(scenario.training.batch_size, devices.count);
  double slowest = 0;
  for (std::size_t d = 0; d < parts.size(); ++d) {
    const double speed = devices.speeds.values.empty() ? usual : devices.speeds.of(d).value;
    slowest = std::max(slowest, static_cast<double>(parts[d]) / batch * (usual / speed));
  }
  return slowest;
}

DeviceCopies device_copies(const DeviceSpec& devices, double bytes) {
  const auto count = static_cast<double>(devices.count);
  const double peers = devices.aggregate == DeviceAggregation::device ? count - 1 : 0;
  const BytesPerSecond* links = devices.peer_bandwidth ? &*devices.peer_bandwidth : nullptr;
  const std::optional<BytesPerSecond> bus = devices.bus();
  if (!bus) return {};
  const double over_bus = links != nullptr ? count - peers : count;  // what is not between devices
  const double over_links = count - over_bus;
  return {.seconds = over_bus * bytes / bus->value +
                     (links != nullptr ? over_links * bytes / links->value : 0) +
                     count * devices.bus_latency.value,
          .bus_bytes = over_bus * bytes};
}

DeviceMemory device_memory(const Scenario& scenario) {
  const DeviceSpec& devices = scenario.cluster.worker_devices;
  const double model = model_bytes(scenario);
  // One buffer for every device's gradient, of which one becomes the sum; none for a single gradient.
  const double buffers = devices.count > 1 ? static_cast<double>(devices.count) * model : 0;
  const double both = 2 * model;  // weights and gradient
  if (devices.aggregate == DeviceAggregation::device) return {.host = both, .device = both + buffers};
  return {.host = devices.count > 1 ? model + buffers : both, .device = both};
}

double bus_bytes(const Scenario& scenario, std::int64_t clocks) {
  if (clocks == 0) return 0;
  const TrainingSpec& training = scenario.training;
  const std::int64_t first = training.warmup_steps > 0 ? training.warmup_steps : training.local_steps;
  return bus_bytes_of_steps(scenario, static_cast<double>(first + (clocks - 1) * training.local_steps));
}

double bus_bytes_of_steps(const Scenario& scenario, double steps) {
  return (mutant("bus-bytes-of-weights-only") ? 1 : 2) * steps *
         device_copies(scenario.cluster.worker_devices, model_bytes(scenario)).bus_bytes;
}

}  // namespace psim
