// The only use of real time in psim. Simulations do not see it.
#pragma once

#include <string>

namespace psim {

// Seconds of the machine's steady clock.
double host_seconds();

// "50 s", "12 min", "3.5 h": rounded, because times are estimates.
std::string time_text(double seconds);

}  // namespace psim
