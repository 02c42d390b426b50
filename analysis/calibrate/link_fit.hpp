// Latency and bandwidth of a link, from transfers of different sizes.
#pragma once

#include <optional>
#include <span>

#include "analysis/calibrate/step_log.hpp"
#include "analysis/statistics/sample.hpp"

namespace psim::calibrate {

struct LinkFit {
  double latency = 0;    // seconds of a transfer without bytes; 0 if the transfers cannot tell it
  double bandwidth = 0;  // bytes per second
  statistics::Interval latency_interval;                   // 95 %
  std::optional<statistics::Interval> bandwidth_interval;  // 95 %; nothing: there is only one transfer
  bool knows_latency = false;
  double error = 0;  // the typical relative error of a transfer's time
};

// Weighted least squares of seconds = latency + bytes / bandwidth with equal relative errors, and latency at
// least 0. Transfers of about one size, and spans of a stream, tell only the bandwidth. Nothing for no
// transfers. Throws LogError if larger transfers do not take longer.
std::optional<LinkFit> fit_link(std::span<const Transfer> transfers);

}  // namespace psim::calibrate
