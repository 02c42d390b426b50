// calibration.json.
#include <cmath>

#include "sim/calibrate/calibrate.hpp"
#include "sim/record/identity.hpp"

namespace psim::calibrate {
namespace {

using Json = nlohmann::ordered_json;

Json interval(const statistics::Interval& one) {
  return {one.low, std::isfinite(one.high) ? Json(one.high) : Json()};
}

Json json_of(const StepFit& fit, const std::vector<std::int64_t>& names) {
  Json workers = Json::array();
  for (std::size_t w = 0; w < fit.means.size(); ++w)
    workers.push_back(
        {{"worker", names[w]}, {"mean_s", fit.means[w]}, {"interval_s", interval(fit.intervals[w])}});
  return {{"workers", workers},
          {"cv", fit.cv},
          {"shared", fit.shared},
          {"memory_steps", fit.memory},
          {"shared_memory_steps", fit.shared_memory},
          {"block_steps", fit.block}};
}

Json verdict_json(const Calibration& calibration) {
  if (!calibration.verdict) return nullptr;
  const Verdict& verdict = *calibration.verdict;
  const auto compared = [](const std::vector<Compared>& all) {
    Json list = Json::array();
    for (const Compared& one : all)
      list.push_back({{"what", one.name},
                      {"measured", one.measured},
                      {"simulated", one.simulated},
                      {"error", one.error()}});
    return list;
  };
  return {{"holds", verdict.holds},
          {"within", verdict.within},
          {"only_computations", verdict.only_computations},
          {"held_out_steps", calibration.held_out.size()},
          {"held_out_runs", calibration.runs.empty() ? 0 : verdict.judged.size()},
          {"judged", compared(verdict.judged)},
          {"described", compared(verdict.described)},
          {"reasons", verdict.reasons}};
}

}  // namespace

nlohmann::ordered_json calibration_json(const Calibration& calibration, const Request& request) {
  Json json{{"schema", "psim.calibration/1"}, {"psim", version_text()}, {"logs", request.logs}};
  if (calibration.runs.empty()) {
    json["workers"] = calibration.times.workers.size();
    json["steps"] = calibration.times.size();
  }
  json["left_out"] = {{"impossible", calibration.counts.impossible},
                      {"zero", calibration.counts.zero},
                      {"repeated", calibration.counts.repeated},
                      {"beyond", calibration.counts.beyond}};
  json["notes"] = calibration.notes;
  json["warnings"] = warnings(calibration);
  json["runs"] = calibration.runs.size();
  if (calibration.runs.empty()) json["step_times"] = json_of(calibration.steps, calibration.times.workers);
  Json values = Json::array();
  for (const Fitted& one : calibration.network.fitted) {
    Json value{{"field", one.field},
               {"value", one.value},
               {"unit", one.unit},
               {"how", one.how},
               {"given", one.is_given}};
    value["interval"] = one.interval ? interval(*one.interval) : Json();
    value["cannot_be_told"] = !one.missing.empty();
    if (!one.missing.empty()) value["measure"] = one.missing;
    values.push_back(std::move(value));
  }
  json["network"] = {{"values", values},
                     {"error", calibration.network.error},
                     {"simulations", calibration.network.simulations}};
  json["verdict"] = verdict_json(calibration);
  return json;
}

}  // namespace psim::calibrate
