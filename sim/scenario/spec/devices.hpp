// The devices (accelerators) of a worker: how they divide a batch, and the cost of copying weights and
// gradients. Pure functions of the scenario. Sums follow MXNet's KVStore (src/kvstore/comm.h): CommCPU adds
// gradients in host memory, CommDevice on devices.
//
// The bus is a tree: one link leads from the host to a switch, and every device has a port there.
// - Copies between the host and the devices use the host's link, one copy at a time (`bus_bytes`).
// - Devices copy to each other through their ports, in parallel, without the host's link (`peer_bytes`). With
//   peers = "host" such a copy goes through host memory.
// CommCPU copies every device's gradient over the host's link, and the weights to every device: n copies in
// each direction. CommDevice sums each array on one device: the largest arrays first, each on the device with
// the least values so far. It copies the sum to the host once. The weights go to one device once, and from
// there to the other devices.
//
// Devices are not hosts of SimGrid, unless they are the stages of a pipeline (nodes.hpp). A step of the
// worker consists of their work and copies, in this order: weights down, gradients of the parts, sum,
// gradient up. Decisions:
// - Slowness slows the computing but not the copies. A cancelled step stops at once, or at the end of the
//   current copy.
// - The weights that a worker keeps between clocks (local steps, elastic averaging) are in the host, so each
//   local step copies in both directions; accumulated batches are copied once. With update = "device" every
//   device has the weights and the optimizer, as with MXNet's update_on_kvstore = false: the host sends only
//   sums of gradients, and local steps use only the devices if these add up gradients.
// - With several devices the gradient is the weighted mean of the parts' gradients, in device order; it
//   differs from the gradient of the batch by rounding. A single device without a bus is the worker's
//   processor: it needs no copies, and gives the same bits as without devices.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// The number of samples of each device: equal parts; the first devices take one more.
std::vector<std::int64_t> device_parts(std::int64_t samples, std::int64_t devices);

// The time of a batch on all devices in parallel, divided by its time on one device of the worker's speed. If
// the devices are the stages of a pipeline, the time on device `worker` alone.
double devices_time_ratio(const Scenario& scenario, std::size_t worker);

// Whether the devices run the optimizer instead of the host; and the speed of the slowest device.
bool updates_on_devices(const Scenario& scenario);
double slowest_device(const Scenario& scenario, std::size_t worker);

// The share of the model's values that each device sums, if devices sum.
std::vector<double> shares_of_sums(const Scenario& scenario);

// The time of copies, and their bytes on the host's link and between devices.
struct DeviceCopies {
  double seconds = 0;
  double bus_bytes = 0;
  double peer_bytes = 0;

  DeviceCopies& operator+=(const DeviceCopies& other);
  friend DeviceCopies operator*(double times, const DeviceCopies& one);
};
// Copies of `bytes` of weights from the host to all devices, or of `bytes` of gradients back; and copies
// among devices, to sum gradients or to distribute the sum. The other direction costs the same.
DeviceCopies host_copies(const Scenario& scenario, double bytes);
DeviceCopies peer_copies(const Scenario& scenario, double bytes);
// Copies of a clock of `steps` local steps, in both directions, for `bytes` of the model.
DeviceCopies copies_of_clock(const Scenario& scenario, double bytes, std::int64_t local_steps);
// Copies of a worker's first `clocks` clocks.
DeviceCopies copies_of_clocks(const Scenario& scenario, std::int64_t clocks);
// ... with `steps` local steps in all.
DeviceCopies copies_of_steps(const Scenario& scenario, double clocks, double steps);

}  // namespace psim
