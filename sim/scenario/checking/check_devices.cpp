// Checks of the devices of workers, and of pipelines over devices.
#include <fmt/format.h>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/field_list.hpp"

namespace psim {
namespace {

void note_idle_network(const Check& check) {
  for (const auto& [path, place] : check.reading.places) {
    const bool is_one = path.starts_with("cluster.network.") && all_fields().find(path) != nullptr;
    if (!is_one || check.reading.by_preset(path)) continue;
    check.diagnostics.note({"no-meaning", place, fmt::format("`{}` has no effect here", path),
                            "a pipeline over devices sends no messages",
                            "remove it, or change `architecture.over`"});
  }
}

}  // namespace

void check_devices(const Check& check) {
  const DeviceSpec& d = check.s.cluster.worker_devices;
  const std::string path = "cluster.worker.device.", count = path + "count", speeds = path + "speeds",
                    batch = "training.batch_size";
  const std::size_t given = d.speeds.values.size();
  if (given > 1 && given != static_cast<std::size_t>(d.count)) {
    check.add({speeds, count}, fmt::format("`{}` has {} values", speeds, given),
              fmt::format("for {}", counted(d.count, "device")), "give one value for all, or one for each");
  }
  if (!check.s.architecture.is_on_one_machine() && d.count > check.s.training.batch_size) {
    check.add({count, batch}, fmt::format("`{}` is {}", count, d.count),
              fmt::format("a batch has only {}", counted(check.s.training.batch_size, "sample")),
              "each device needs at least one sample");
  }
  if (check.s.architecture.is_on_one_machine()) note_idle_network(check);
}

void settle_devices(Scenario& scenario, const Check& check) {
  DeviceSpec& devices = scenario.cluster.worker_devices;
  const std::string workers = "cluster.workers", over = "architecture.over", speed = "cluster.worker.speed",
                    count = "cluster.worker.device.count";
  if (scenario.architecture.kind != Architecture::model_parallel) return;
  if (!scenario.architecture.is_on_one_machine()) {  // a stage is a machine, not a device
    devices = {.count = devices.count, .memory = devices.memory};
    return;
  }
  const std::int64_t machines = check.reading.given(workers) ? scenario.cluster.workers : 1;
  if (machines != 1)
    check.add({workers, over}, fmt::format("`{}` is {}", workers, machines),
              "a pipeline over devices runs on one machine",
              "write workers = 1, and `count` in [cluster.worker.device] for the number of stages; or use "
              "over = \"nodes\"");
  if (scenario.cluster.worker.speed.values.size() > 1)
    check.add({speed, over}, fmt::format("`{}` has several values", speed), "there is one machine",
              "`speeds` in [cluster.worker.device] gives the speeds of its devices");
  scenario.cluster.workers = devices.count;
}

}  // namespace psim
