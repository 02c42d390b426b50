// The further memory that this process may use.
#pragma once

#include <cstdint>

namespace psim {

// Bytes: the smallest of the memory that the kernel can give without swapping (MemAvailable), the rest that
// the control group (version 2) allows, and the limit on the address space. At least 64 MiB, so that a
// machine without useful numbers can do small runs. The value changes while other processes run: it is a
// bound, not an input of a run.
std::uint64_t available_memory();

// Bytes that this process may map in total (RLIMIT_AS), used or not; the largest number if no limit is set.
std::uint64_t address_space_limit();

}  // namespace psim
