// The tasks that a run's scenario gives, read from its file.
#pragma once

#include <toml++/toml.h>

#include <vector>

#include "analysis/run_record.hpp"

namespace psim::analysis {

// Throws std::runtime_error where they are no program.
std::vector<TaskFact> task_facts(const toml::table& scenario, std::int64_t workers);

}  // namespace psim::analysis
