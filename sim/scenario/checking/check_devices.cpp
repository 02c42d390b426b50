// Several devices per worker.
#include <fmt/format.h>

#include <utility>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/spec/devices.hpp"

namespace psim {
namespace {

std::string size_text(double bytes) {
  for (const auto& [unit, size] : {std::pair{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}) {
    if (bytes >= size) return fmt::format("{:.6g} {}", bytes / size, unit);
  }
  return fmt::format("{} B", bytes);
}

}  // namespace

void check_devices(const Check& check) {
  const DeviceSpec& d = check.s.cluster.worker_devices;
  const std::string path = "cluster.worker.device.", count = path + "count", speeds = path + "speeds",
                    memory = path + "memory", batch = "training.batch_size";
  const std::size_t given = d.speeds.values.size();
  if (given > 1 && given != static_cast<std::size_t>(d.count)) {
    check.add({speeds, count}, fmt::format("`{}` has {} values", speeds, given),
              fmt::format("for {}", counted(d.count, "device")), "give one value for all, or one for each");
  }
  if (d.count > check.s.training.batch_size) {
    check.add({count, batch}, fmt::format("`{}` is {}", count, d.count),
              fmt::format("a batch has only {}", counted(check.s.training.batch_size, "sample")),
              "each device takes at least one");
  }
  if (!d.memory || !knows_model(check)) return;
  const double needed = device_memory(check.s).device;
  if (needed <= d.memory->value) return;
  const bool sums = d.aggregate == DeviceAggregation::device && d.count > 1;
  const auto parameters = static_cast<double>(parameter_count(check.s.model));
  const double model = parameters * static_cast<double>(bytes_per_value(check.s.model.precision));
  std::string sum = fmt::format("weights and gradient take 2 x {}", size_text(model));
  if (sums) sum += fmt::format(", the sum on device 0 {} x {}", d.count, size_text(model));
  check.add({memory, count, path + "aggregate", "model"}, fmt::format("a device needs {}", size_text(needed)),
            fmt::format("it has {}", size_text(d.memory->value)),
            sum + (sums ? "; aggregate = \"host\" needs less" : ""));
}

}  // namespace psim
