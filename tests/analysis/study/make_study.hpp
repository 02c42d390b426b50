// Studies made by hand, of summaries with round numbers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/study/study.hpp"

namespace psim::test {

using analysis::Json;

struct RunFacts {
  double time = 1;                       // of the whole run
  std::optional<double> to_target = {};  // when it has a target and reached it
  bool target = false;
  std::optional<double> budget = {};  // training.duration
  double updates = 100, staleness = 0, staleness_max = 0, bytes = 2e6;
  double wait = 0.25, network = 0.25, absent = 0;
  std::optional<double> loss = 0.5, accuracy = 0.75, first_loss = {}, samples_per_s = {};
  bool stuck = false;
  std::vector<std::pair<double, std::optional<double>>> curve = {};  // time and loss
};

inline Json or_null(const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); }

inline Json summary(std::int64_t seed, const RunFacts& f) {
  Json target = {
      {"given", f.target}, {"reached", f.to_target.has_value()}, {"sim_time_s", or_null(f.to_target)}};
  if (f.target) target["budget_s"] = or_null(f.budget);
  Json curve = Json::array();
  for (const auto& [time, loss] : f.curve)
    curve.push_back({{"sim_time_s", time},
                     {"updates", 1},
                     {"epoch", 0.5},
                     {"bytes_sent", 10},
                     {"loss", or_null(loss)},
                     {"accuracy", nullptr}});
  Json json = {{"psim", "1.0"},
               {"cpu_family", "any"},
               {"build", "b"},
               {"seed", seed},
               {"sim_time_s", f.time},
               {"updates", f.updates},
               {"bytes_sent", f.bytes},
               {"staleness", {{"mean", f.staleness}, {"max", f.staleness_max}}},
               {"time",
                {{"compute_share", 1 - f.wait - f.network - f.absent},
                 {"wait_share", f.wait},
                 {"network_share", f.network},
                 {"absent_share", f.absent}}},
               {"stuck", f.stuck ? Json::array({"worker 0 waits"}) : Json::array()},
               {"notes", Json::array()},
               {"final", {{"loss", or_null(f.loss)}, {"accuracy", or_null(f.accuracy)}}},
               {"target", target},
               {"curve", curve}};
  if (f.first_loss) json["initial"] = {{"loss", *f.first_loss}};
  if (f.samples_per_s) json["samples_per_s"] = *f.samples_per_s;
  return json;
}

// Reached its target after `time`, and would have gone on until `budget`.
inline RunFacts reached(double time, std::optional<double> budget = {}) {
  return {.time = time, .to_target = time, .target = true, .budget = budget};
}
// Missed its target in a run of that length.
inline RunFacts missed(double budget) { return {.time = budget, .target = true, .budget = budget}; }

// The runs have seeds 1, 2, ... and hashes of their own; runs of cells with the same `hash` are the same.
inline analysis::Cell cell(const std::string& arm, std::vector<std::string> condition,
                           const std::vector<RunFacts>& runs, std::string hash = {}) {
  analysis::Cell result{.arm = arm, .condition = std::move(condition), .runs = {}};
  if (hash.empty()) {
    hash = arm;
    for (const std::string& value : result.condition) hash += "/" + value;
  }
  std::int64_t seed = 0;
  for (const RunFacts& facts : runs) {
    ++seed;
    result.runs.push_back(
        {.run = hash + "#" + std::to_string(seed), .seed = seed, .summary = summary(seed, facts)});
  }
  return result;
}

inline analysis::Study study(std::vector<std::string> condition_axes, std::vector<analysis::Cell> cells) {
  const std::string baseline = cells.front().arm;
  return {.name = "made",
          .title = "Made by hand",
          .arm_axis = "consistency.model",
          .condition_axes = std::move(condition_axes),
          .baseline = baseline,
          .cells = std::move(cells)};
}

// Runs without a target, of these lengths.
inline std::vector<RunFacts> lasting(const std::vector<double>& times) {
  std::vector<RunFacts> runs;
  for (const double time : times) runs.push_back({.time = time});
  return runs;
}
inline std::vector<RunFacts> reaching(const std::vector<double>& times, std::optional<double> budget = {}) {
  std::vector<RunFacts> runs;
  for (const double time : times) runs.push_back(reached(time, budget));
  return runs;
}

}  // namespace psim::test
