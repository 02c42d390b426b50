#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

// Not the machines of a pipeline.
bool has_devices(const Scenario& s) {
  return s.architecture.kind != Architecture::model_parallel || s.architecture.is_on_one_machine();
}

void describe_bus(FieldVisitor& v, Scenario& s) {
  DeviceSpec& d = s.cluster.worker_devices;
  const std::string_view kind = "architecture.kind", count = "cluster.worker.device.count",
                         over = "architecture.over";
  v.field("bus_bandwidth", &d.bus_bandwidth,
          {.doc = "Bandwidth of the link between a worker's host and the switch of the bus that its devices "
                  "share; it carries one copy at a time.",
           .min = 1,
           .max = 1e30,
           .need = {.keys = {kind, over},
                    .text = "where workers have the whole model, or in a pipeline over devices",
                    .met = [&s] { return has_devices(s); }},
           .default_text = "\"16GBps\"; a single device has no bus, and needs no copies"});
  v.field("bus_latency", &d.bus_latency,
          {.doc = "Latency of each copy.",
           .min = 0,
           .max = 3600,
           .need = {.keys = {count, "cluster.worker.device.bus_bandwidth", over},
                    .text = "with several devices, or a bus_bandwidth",
                    .met = [&s, &d] { return d.bus().has_value() && has_devices(s); }}});
  v.field("aggregate", choice(d.aggregate),
          {.doc = "Where the gradients of a worker's devices are added up.",
           .when_key = kind,
           .when = {"parameter-server", "all-reduce"},
           .need = {.keys = {count}, .text = "with several devices", .met = [&d] { return d.count > 1; }}});
  v.field(
      "update", choice(d.update),
      {.doc = "Where a worker that updates its own weights runs the optimizer. On the devices each of them "
              "has its own copy of weights and optimizer state, and only sums of gradients come down.",
       .when_key = kind,
       .when = {"parameter-server"},
       .need = {.keys = {"training.update", count, "cluster.worker.device.bus_bandwidth"},
                .text = "with training.update = worker, and devices behind a bus",
                .met = [&s, &d] {
                  return d.bus().has_value() && (s.training.update == UpdateAt::worker || !s.groups.empty());
                }}});
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
  v.field("peers", choice(d.peers),
          {.doc = "How devices copy to each other.",
           .need = {.keys = {count, sums, over},
                    .text = "with several devices that add up gradients, or are stages of a pipeline",
                    .met = with_peers}});
  v.field("peer_bandwidth", &d.peer_bandwidth,
          {.doc = "Bandwidth, each way, of a device's port for copies from and to other devices. These leave "
                  "the host's link alone.",
           .min = 1,
           .max = 1e30,
           .need = {.keys = {count, sums, "cluster.worker.device.peers", over},
                    .text = "with several devices that copy to each other directly",
                    .met = [&d, with_peers] { return with_peers() && d.peers == PeerAccess::direct; }},
           .default_text = "bus_bandwidth"});
}

}  // namespace

void describe_devices(FieldVisitor& v, Scenario& s) {
  DeviceSpec& d = s.cluster.worker_devices;
  const std::string_view kind = "architecture.kind", over = "architecture.over";
  const Need devices{.keys = {kind, over},
                     .text = "where workers have the whole model, or in a pipeline over devices",
                     .met = [&s] { return has_devices(s); }};
  v.field("count", &d.count,
          {.doc = "Devices of each worker. They share a batch in equal parts; what does not divide goes to "
                  "the first ones. Of a pipeline over devices: the number of stages.",
           .min = 1,
           .max = 64,
           .need = devices});
  v.field("speeds", &d.speeds,
          {.doc = "Computing speed of each device.",
           .min = 1,
           .max = 1e30,
           .need = devices,
           .default_text = "the worker's"});
  v.field("memory", &d.memory,
          {.doc = "Memory of each device. What it holds must fit (docs/results.md, Memory). A single device "
                  "without a bus is the worker's processor, and holds all that the worker holds.",
           .min = 1,
           .max = 1e18,
           .default_text = "no limit"});
  describe_bus(v, s);
  describe_peers(v, s);
}

}  // namespace psim
