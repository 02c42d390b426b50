// A worker's devices (accelerators): how a batch is shared out among them, and what their copies of weights
// and gradients cost. Pure functions over the scenario. Sums follow MXNet's KVStore (src/kvstore/comm.h):
// CommCPU adds gradients in host memory, CommDevice on devices.
//
// The bus is a tree: one link leads from the host to a switch, and every device has a port there.
// - What goes between the host and the devices takes the host's link, one copy at a time (`bus_bytes`).
// - Devices copy to each other through their ports, side by side, and leave the host's link alone
//   (`peer_bytes`). Where they cannot (peers = "host") such a copy goes up to host memory and down again.
// CommCPU takes every device's gradient over the host's link, and sends the weights to every device: n copies
// each way. CommDevice sums each array on one device: the largest arrays first, each on the device that has
// least so far. It takes the sum up once; the weights go down once, and from there to the other devices.
//
// Devices are no hosts of SimGrid, unless they are the stages of a pipeline (one_machine.hpp). Their
// computing and their copies are parts of the worker's one computation, in order: weights down, gradients of
// the parts, sum, gradient up. Decisions:
// - Slowness slows the computing but not the copies. A cancelled step stops at once, or when the copy in
//   hand is through.
// - What a worker keeps of its own between clocks (local steps, elastic averaging) lives in the host, so
//   each local step copies both ways; accumulated batches are copied once. With update = "device" every
//   device has the weights and the optimizer, as under MXNet's update_on_kvstore = false: only sums of
//   gradients come down, and local steps stay among the devices if these add up.
// - With several devices the gradient is the weighted mean of the parts' gradients, in device order; it
//   differs from that of the batch by rounding. A single device without a bus is the worker's processor: no
//   copies, and the same bits as without devices.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Samples of `samples` in order that each device takes: equal parts, the first ones take one more.
std::vector<std::int64_t> device_parts(std::int64_t samples, std::int64_t devices);

// Time of a batch on the devices side by side, over its time on one device of the worker's speed. Where the
// devices are the stages of a pipeline, on device `worker` alone.
double devices_time_ratio(const Scenario& scenario, std::size_t worker);

// Whether the devices, not the host, run the optimizer; and the speed of the slowest of them.
bool updates_on_devices(const Scenario& scenario);
double slowest_device(const Scenario& scenario, std::size_t worker);

// The share of the model's values that each device sums, where devices sum.
std::vector<double> shares_of_sums(const Scenario& scenario);

// Copies: how long they take, and what goes over the host's link and between devices.
struct DeviceCopies {
  double seconds = 0;
  double bus_bytes = 0;
  double peer_bytes = 0;

  DeviceCopies& operator+=(const DeviceCopies& other);
  friend DeviceCopies operator*(double times, const DeviceCopies& one);
};
// Of `bytes` of weights from the host to all devices, or of `bytes` of gradients back; and among devices
// only, to sum gradients or to spread the sum. The other direction costs the same.
DeviceCopies host_copies(const Scenario& scenario, double bytes);
DeviceCopies peer_copies(const Scenario& scenario, double bytes);
// Of a clock of so many local steps, both ways, for `bytes` of the model.
DeviceCopies copies_of_clock(const Scenario& scenario, double bytes, std::int64_t local_steps);
// Of a worker's first `clocks` clocks.
DeviceCopies copies_of_clocks(const Scenario& scenario, std::int64_t clocks);
// ... in so many local steps.
DeviceCopies copies_of_steps(const Scenario& scenario, double clocks, double steps);

}  // namespace psim
