// The consistency model of somebody's own scenario, to be attacked by drawn clusters and faults.
#pragma once

#include <filesystem>
#include <optional>

#include "sim/fuzz/draft.hpp"

namespace psim::fuzz {

// [consistency] of a TOML file, each value in one line; nothing where the file has no such table. For a file
// that loads without a diagnostic.
std::optional<Table> consistency_of(const std::filesystem::path& file);

// `draft` with this model in place of its own.
Draft with_consistency(Draft draft, const Table& consistency);

}  // namespace psim::fuzz
