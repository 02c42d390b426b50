// The part of the schema and of the reference page about [compare], whose keys are not fields of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace psim {

nlohmann::ordered_json compare_schema();
nlohmann::ordered_json tune_schema();
std::string compare_reference();

}  // namespace psim
