// Reads a text as the log of a cluster.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "analysis/calibrate/step_log.hpp"
#include "tests/support/run_psim.hpp"

namespace psim::test {

using calibrate::ClusterLog;
using calibrate::EventNames;
using calibrate::LogError;

struct Read {
  ClusterLog log;
  std::string error, help;
};

inline Read reading(const std::string& text, const EventNames& names = {}, const std::string& name = "log") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / name).string();
  std::ofstream(path, std::ios::binary) << text;
  Read read;
  try {
    read_log(path, 7, names, read.log);
  } catch (const LogError& error) {
    read.error = error.what();
    if (read.error.starts_with(path)) read.error.erase(0, path.size());
    read.help = error.help;
  }
  return read;
}

inline double compute(const Read& read, std::int64_t worker, std::int64_t step) {
  return read.log.steps.workers().at(worker).at(step).compute;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace psim::test
