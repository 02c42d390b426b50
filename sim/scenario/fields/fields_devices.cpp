#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

bool has_devices(const Scenario& s) {
  return s.architecture.kind != Architecture::model_parallel || s.architecture.is_on_one_machine();
}

void describe_bus(FieldVisitor& v, Scenario& s) {
  DeviceSpec& d = s.cluster.worker_devices;
  const std::string_view kind = "architecture.kind", count = "cluster.worker.device.count",
                         over = "architecture.over";
  v.field("bus_bandwidth", &d.bus_bandwidth,
          "Bandwidth of the link from a worker's host to the switch of the bus that its devices share. The "
          "link carries one copy at a time.",
          within(1, 1e30),
          only({.keys = {kind, over},
                .text = "where workers have the whole model, or in a pipeline over devices",
                .met = [&s] { return has_devices(s); }}),
          otherwise("\"16GBps\"; a single device has no bus and needs no copies"));
  v.field("bus_latency", &d.bus_latency, "Latency of each copy.", within(0, 3600),
          only({.keys = {count, "cluster.worker.device.bus_bandwidth", over},
                .text = "with several devices, or a bus_bandwidth",
                .met = [&s, &d] { return d.bus().has_value() && has_devices(s); }}));
  v.field("aggregate", choice(d.aggregate), "Where the gradients of a worker's devices are added up.",
          when(kind, {"parameter-server", "all-reduce"}),
          only({.keys = {count}, .text = "with several devices", .met = [&d] { return d.count > 1; }}));
  v.field("update", choice(d.update),
          "Where a worker that updates its own weights runs the optimizer. With `device` every device has "
          "its own copy of the weights and the optimizer state, and the host sends the devices only sums of "
          "gradients.",
          with_servers,
          only({.keys = {"training.update", count, "cluster.worker.device.bus_bandwidth"},
                .text = "with training.update = worker, and devices behind a bus",
                .met = [&s, &d] {
                  return d.bus().has_value() && (s.training.update == UpdateAt::worker || !s.groups.empty());
                }}));
}

void describe_peers(FieldVisitor& v, Scenario& s) {
  DeviceSpec& d = s.cluster.worker_devices;
  const std::string_view count = "cluster.worker.device.count", over = "architecture.over",
                         sums = "cluster.worker.device.aggregate";
  const auto with_peers = [&s, &d] {
    const bool devices_sum =
        !s.architecture.is_on_one_machine() && has_devices(s) && d.aggregate == DeviceAggregation::device;
    return d.count > 1 && (devices_sum || s.architecture.is_on_one_machine());
  };
  v.field("peers", choice(d.peers), "How devices copy to each other.",
          only({.keys = {count, sums, over},
                .text = "with several devices that add up gradients, or are stages of a pipeline",
                .met = with_peers}));
  v.field("peer_bandwidth", &d.peer_bandwidth,
          "Bandwidth, each way, of a device's port for copies from and to other devices. These copies do not "
          "use the host's link.",
          within(1, 1e30),
          only({.keys = {count, sums, "cluster.worker.device.peers", over},
                .text = "with several devices that copy to each other directly",
                .met = [&d, with_peers] { return with_peers() && d.peers == PeerAccess::direct; }}),
          otherwise("bus_bandwidth"));
}

}  // namespace

void describe_devices(FieldVisitor& v, Scenario& s) {
  DeviceSpec& d = s.cluster.worker_devices;
  const std::string_view kind = "architecture.kind", over = "architecture.over";
  const Need devices{.keys = {kind, over},
                     .text = "where workers have the whole model, or in a pipeline over devices",
                     .met = [&s] { return has_devices(s); }};
  v.field("count", &d.count,
          "Number of devices of each worker. They share a batch in equal parts; the first devices take the "
          "remaining samples. In a pipeline over devices this is the number of stages.",
          within(1, 64), only(devices));
  v.field("speeds", &d.speeds, "Computing speed of each device.", within(1, 1e30), only(devices),
          otherwise("the worker's"));
  v.field("memory", &d.memory,
          "Memory of each device. Everything that the device holds must fit (docs/results.md, Memory). A "
          "single device without a bus is the worker's processor: it holds everything that the worker holds.",
          within(1, 1e18), otherwise("no limit"));
  describe_bus(v, s);
  describe_peers(v, s);
}

}  // namespace psim
