// Checks whether a finished run kept the promises of its consistency model and of replication: reads the
// folder of the run, replays its events through a model of shard owners (history.hpp), and checks
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/run_record.hpp"

namespace psim::analysis {

// An event that breaks a promise; number -1: a finding about the whole run.
struct Finding {
  std::int64_t event = -1;
  double at = 0;  // simulated seconds
  std::string text;
};

struct CheckReport {
  std::string name, promise;
  bool applies = true;  // the run has something for this check
  std::int64_t examined = 0, violations = 0;
  std::vector<Finding> first;  // the first violations
  std::string note = {};
};

struct Verdict {
  std::string model;
  std::int64_t events = 0;
  std::vector<CheckReport> checks;
  bool holds() const;
};

// Throws Unverifiable.
Verdict verify(const std::filesystem::path& run);

// The promise of the check, from word_docs.txt. `psim explain` prints it, too.
std::string promise_of(std::string_view check);

// The table for people, with the first violations.
std::string text(const Verdict& verdict);
// "psim.verify/1"
Json document(const Verdict& verdict);

}  // namespace psim::analysis
