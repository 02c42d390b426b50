// The one document that describes a finished run: what --json prints and summary.json holds.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/record/identity.hpp"
#include "sim/record/result.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

struct RunIdentity {
  std::string name;  // of the scenario file, without folder and ending
  std::string title;
  std::int64_t seed = 0;
  std::string scenario_hash;  // of the resolved scenario, its data and the build: equal hash, equal run
};

nlohmann::ordered_json make_summary(const RunIdentity& identity, const Scenario& scenario,
                                    const RunResult& result);

}  // namespace psim
