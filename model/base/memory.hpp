// The further memory that this process may use.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace psim {

// Bytes: the smallest of the memory that the kernel can give without swapping (MemAvailable), the rest that
// the control group (version 2) allows, and the limit on the address space. At least 64 MiB, so that a
// machine without useful numbers can do small runs. The value changes while other processes run: it is a
// bound, not an input of a run.
std::uint64_t available_memory();

// Bytes that this process may map in total (RLIMIT_AS), used or not; the largest number if no limit is set.
std::uint64_t address_space_limit();

// Before stacks are made without guards: each gets pages of its own, and takes memory only for those that it
// uses. Otherwise glibc takes stacks after the 65,536th from the heap, where calloc() writes a part of each.
void map_stacks();

// Large pages for large arrays: the kernel then fills an array with fewer page faults, and the processor
// looks up fewer addresses.

// The whole huge pages of 2 MiB within `bytes` bytes from `begin`.
struct HugePages {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};
constexpr HugePages huge_pages_within(std::uintptr_t begin, std::size_t bytes) {
  constexpr std::uintptr_t page = std::uintptr_t{1} << 21U;
  const std::uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes) / page * page;
  return end > first ? HugePages{.begin = first, .bytes = end - first} : HugePages{};
}

// Asks Linux for huge pages, before the array is written for the first time. The content does not change.
// Does nothing for less than 4 MiB, on other systems, and where the kernel refuses.
inline void prefer_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes < std::size_t{4} << 20U) return;
  const HugePages pages = huge_pages_within(reinterpret_cast<std::uintptr_t>(begin), bytes);
  static_cast<void>(madvise(reinterpret_cast<void*>(pages.begin), pages.bytes, MADV_HUGEPAGE));
#endif
}

}  // namespace psim
