#include "model/base/memory.hpp"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace psim {
namespace {

constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

// MemAvailable of /proc/meminfo, which counts in units of 1024 bytes.
std::uint64_t of_kernel() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::uint64_t kib = 0; file >> name >> kib; std::getline(file, unit)) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  return unknown;
}

// The only number of a control group's file; no limit if the file says "max" or does not exist.
std::uint64_t number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : unknown;
}

std::uint64_t of_control_group() {
  const std::uint64_t most = number_in("/sys/fs/cgroup/memory.max");
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (most == unknown || used == unknown) return most;
  return most > used ? most - used : 0;
}

}  // namespace

std::uint64_t address_space_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unknown;
  return limit.rlim_cur;
}

std::uint64_t available_memory() {
  constexpr std::uint64_t least = std::uint64_t{64} << 20U;
  return std::max(least, std::min({of_kernel(), of_control_group(), address_space_limit()}));
}

void map_stacks() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TOP_PAD, 0);
  mallopt(M_MMAP_MAX, std::numeric_limits<int>::max());
#endif
}

}  // namespace psim
