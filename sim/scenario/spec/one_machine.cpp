#include "sim/scenario/spec/one_machine.hpp"

#include <fmt/format.h>

#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

// Link 0 is the host's link. Device i has link 2 i + 1, up to the switch, and link 2 i + 2, down from the
// switch.
PlatformFile::Route route(const DeviceSpec& devices, std::uint32_t from, std::uint32_t to) {
  PlatformFile::Route way{.from = from, .to = to, .links = {}, .latency = devices.bus_latency.value};
  const bool direct = devices.peers == PeerAccess::direct;
  if (from == 0 || to == 0 || !direct) way.links = {0};
  else way.links = {2 * (from - 1) + 1, 2 * (to - 1) + 2};
  if (!direct) way.latency *= 2;
  return way;
}

}  // namespace

Scenario on_its_bus(const Scenario& scenario) {
  Scenario result = scenario;
  if (!scenario.architecture.is_on_one_machine()) return result;
  const DeviceSpec& devices = scenario.cluster.worker_devices;
  const double bus = devices.bus().value_or(devices.port()).value;
  PlatformFile file;
  const double shared = devices.peers == PeerAccess::direct ? bus : bus / 2;
  file.links.push_back({.bandwidth = shared, .latency = 0, .fat_pipe = false, .name = "bus"});
  for (std::int64_t device = 0; device < devices.count; ++device) {
    for (const char* way : {"up", "down"})
      file.links.push_back({.bandwidth = devices.port().value,
                            .latency = 0,
                            .fat_pipe = false,
                            .name = fmt::format("device {} {}", device, way)});
  }
  for (const auto& [a, b] : talking_pairs(scenario)) {
    file.routes.push_back(route(devices, b, a));
    file.routes.push_back(route(devices, a, b));
  }
  result.cluster.network = {.topology = TopologyKind::simgrid_xml,
                            .simgrid_model = SimgridModel::cm02,
                            .share_spread = 0,
                            .platform_file = std::move(file)};
  return result;
}

}  // namespace psim
