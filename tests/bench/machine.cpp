#include <fmt/format.h>
#include <xbt/base.h>  // before version.h, which needs its macros
#include <Eigen/Core>

#include <simgrid/version.h>

#include <fstream>
#include <string>
#include <thread>

#include "sim/record/summary.hpp"
#include "tests/bench/harness.hpp"

namespace psim::bench {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

Json machine_facts() {
  return {{"processor", processor()},
          {"cores", std::thread::hardware_concurrency()},
          {"cpu_family", cpu_family()},
          {"vectors", Eigen::SimdInstructionSetsInUse()},
          {"compiler", fmt::format("g++ {}", __VERSION__)},
          {"simgrid", fmt::format("{}.{}", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR)},
          {"eigen", fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
          {"psim", version_text()}};
}

}  // namespace psim::bench
