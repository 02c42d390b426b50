// How much memory this process may still take.
#pragma once

#include <cstdint>

namespace psim {

// Bytes, the least of: what the kernel can give without swapping (MemAvailable), what the control group
// (version 2) has left, and the limit on the address space. Never less than 64 MiB, so that a machine that
// tells nothing useful can do small things. It changes while others run: a bound, not an input of a run.
std::uint64_t available_memory();

// Bytes that this process may map in all (RLIMIT_AS), used or not; the largest number where nothing limits
// it.
std::uint64_t address_space_limit();

}  // namespace psim
