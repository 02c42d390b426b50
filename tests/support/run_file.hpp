// Reads what a run left behind in run.db, and changes it for tests of tampering.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/run_psim.hpp"

namespace psim::test {

// One event, as a row of its table (docs/tables.md).
struct RecordedEvent {
  double at = 0, since = 0;  // simulated seconds; a wait has both
  std::string table, kind;   // the kind of a message or fault, the phase of a computation, a push's outcome
  int node = 0, peer = 0;    // peer: the receiver or sender of a message, or the node that the row names
  std::map<std::string, std::int64_t> columns = {};  // that there are; what arrives has those of its sending
  // 0 where there is nothing.
  std::int64_t operator[](const std::string& column) const {
    const auto found = columns.find(column);
    return found == columns.end() ? 0 : found->second;
  }
  bool is(const std::string& its_table, const std::string& its_kind = "") const {
    return table == its_table && (its_kind.empty() || kind == its_kind);
  }
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
