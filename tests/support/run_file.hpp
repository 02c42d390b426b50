// Reads what a run left behind in run.db, and changes it for tests of tampering.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/run_psim.hpp"

namespace psim::test {

// One row of table `event`.
struct RecordedEvent {
  double at = 0;
  std::string kind, message;
  int node = 0, peer = 0;
  std::int64_t clock = 0, version = 0, bytes = 0, value = 0;
  int shard = 0;
};

struct TracedRun {
  Json summary;
  std::vector<RecordedEvent> events;
};

// As run_toml, with every event.
TracedRun trace_toml(const std::string& toml, const std::vector<std::string>& arguments = {});

std::vector<RecordedEvent> events_of(const std::filesystem::path& run);

// Executes SQL on a run's database, and writes its checksums anew: what is to be found is the change itself.
void change_run(const std::filesystem::path& run, const std::string& sql);

}  // namespace psim::test
