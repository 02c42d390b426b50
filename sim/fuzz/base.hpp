// The consistency model of a user's scenario, which the fuzzer runs with random clusters and faults.
#pragma once

#include <filesystem>
#include <optional>

#include "sim/fuzz/draft.hpp"

namespace psim::fuzz {

// [consistency] of a TOML file, each value on one line; nothing if the file has no such table. The file must
// load without a diagnostic.
std::optional<Table> consistency_of(const std::filesystem::path& file);

// `draft` with this model instead of its own.
Draft with_consistency(Draft draft, const Table& consistency);

}  // namespace psim::fuzz
