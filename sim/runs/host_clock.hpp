// The only use of real time in psim; nothing simulated sees it.
#pragma once

#include <string>

namespace psim {

// Seconds of the machine's steady clock.
double host_seconds();

// "50 s", "12 min", "3.5 h": as exact as an estimate.
std::string time_text(double seconds);

}  // namespace psim
