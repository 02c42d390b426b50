// Makes a finished run once more: opens it, compares results, and knows where its digest must be the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/record/run_file.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

struct FinishedRun {
  fs::path path;
  RecordedRun recorded;
  Json summary;
};

// Throws Refused if `path` is no run, InputError and DamagedRun.
FinishedRun open_run(const fs::path& path);

// The folders where the run found its data.
std::vector<std::string> data_dirs_of(const FinishedRun& run);

// The run's scenario, with the data from the same folders. Throws Invalid.
LoadedScenario load_again(const FinishedRun& run);

// Empty if `texts` lacks the key.
std::string value_of(const std::map<std::string, std::string>& texts, const std::string& key);

// Differences between two summaries of a run.

// The first value that differs, in both versions; empty if the summaries are equal.
std::string first_difference(const Json& recorded, const Json& now);

// A note for each property of the program that differs; empty if none differs.
std::string notes_on_program(const Json& recorded, const Json& now);

// A summary without the properties of the program, such as its version.
Json without_program(Json summary);

// What psim promises about the digest of a run that is made again, perhaps on another machine.
struct DigestPromise {
  std::string rule;        // one line: which programs give the same digest
  std::string exceptions;  // why another digest would break no promise; empty: it would break the promise

  // The line about a digest that differs.
  std::string verdict() const;
};

// `recorded` and `here` are the summaries of the two runs. Only the properties of the program count.
DigestPromise promise_on_digest(const LoadedScenario& loaded, const Json& recorded, const Json& here);

}  // namespace psim
