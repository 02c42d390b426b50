#include "psim/results.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace psim::api {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

}  // namespace

Result result_in(const std::string& summary) try {
  const Json all = Json::parse(summary);
  Result result{.digest = all.at("digest"),
                .sim_time_s = all.at("sim_time_s"),
                .updates = all.at("updates"),
                .curve = {},
                .time_to_target_s = number_in(all.at("target"), "sim_time_s"),
                .stuck = all.at("stuck"),
                .summary = all.dump()};
  for (const Json& point : all.at("curve"))
    result.curve.push_back({.sim_time_s = point.at("sim_time_s"),
                            .updates = point.at("updates"),
                            .epoch = point.at("epoch"),
                            .loss = number_in(point, "loss").value_or(std::nan("")),
                            .accuracy = number_in(point, "accuracy")});
  return result;
} catch (const Json::exception& error) {
  throw std::invalid_argument(error.what());
}

}  // namespace psim::api
