// The document that describes a finished run: --json prints it, and summary.json holds it.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "sim/record/identity.hpp"
#include "sim/record/result.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

struct RunIdentity {
  std::string name;  // of the scenario file, without folder and suffix
  std::string title;
  std::int64_t seed = 0;
  std::string scenario_hash;  // of scenario, data and build: equal hash, equal run
};

nlohmann::ordered_json make_summary(const RunIdentity& identity, const Scenario& scenario,
                                    const RunResult& result);

}  // namespace psim
