// Finds the smallest scenario that shows the same error as a larger scenario.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "sim/fuzz/generator.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim::fuzz {

// Removes faults, then other tables, then single fields, and reduces counts, one change at a time, until no
// change is possible. `shows` holds for `draft` and for the result, but for no draft that is one step
// smaller. It is called at most once for each draft.
Draft shrink(Draft draft, const std::function<bool(const Draft&)>& shows);

// The consistency model of a user's scenario, which the fuzzer runs with random clusters and faults.

// [consistency] of a TOML file, each value on one line; nothing if the file has no such table. The file must
// load without a diagnostic.
std::optional<Table> consistency_of(const std::filesystem::path& file);

// `draft` with this model instead of its own.
Draft with_consistency(Draft draft, const Table& consistency);

// The expected outcome of a run.

// Whether all faults end or are tolerable, so that the run must reach its end. False if this is unknown.
bool must_end(const Scenario& scenario);

}  // namespace psim::fuzz
