// A worker's devices (accelerators): how a batch is shared out among them, and what their copies of weights
// and gradients cost. Pure functions over the scenario. Sums follow MXNet's KVStore (src/kvstore/comm.h):
// CommCPU adds gradients in host memory, CommDevice on a device.
//
// Devices are no hosts of SimGrid. Their computing and their copies are parts of the worker's one
// computation, in order: weights down, gradients of the parts, sum, gradient up. Decisions:
// - Slowness slows the computing but not the copies. A cancelled step stops at once, or when the copy in
//   hand is through.
// - What a worker keeps of its own between clocks (local steps, elastic averaging) lives in the host, so
//   each local step copies both ways; accumulated batches are copied once.
// - With several devices the gradient is the weighted mean of the parts' gradients, in device order; it
//   differs from that of the batch by rounding. A single device without a bus is the worker's processor: no
//   copies, and the same bits as without devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Samples of `samples` in order that each device takes: equal parts, the first ones take one more.
std::vector<std::int64_t> device_parts(std::int64_t samples, std::int64_t devices);

// Time of a batch on the devices side by side, over its time on one device of the worker's speed.
double devices_time_ratio(const Scenario& scenario, std::size_t worker);

// Copies of `bytes` of weights from the host to all devices, or of `bytes` of gradient back: seconds, and
// how much of it goes over the bus. The other direction costs the same.
struct DeviceCopies {
  double seconds = 0;
  double bus_bytes = 0;
};
DeviceCopies device_copies(const DeviceSpec& devices, double bytes);

// Bytes that weights and gradients take at most, without activations and optimizer state.
struct DeviceMemory {
  double host = 0;
  double device = 0;  // of the fullest one, device 0
};
DeviceMemory device_memory(const Scenario& scenario);

// Bytes over a worker's bus in its first `clocks` clocks.
double bus_bytes(const Scenario& scenario, std::int64_t clocks);
// ... in so many local steps.
double bus_bytes_of_steps(const Scenario& scenario, double steps);

}  // namespace psim
