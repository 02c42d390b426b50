#include "sim/cli/study/tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "analysis/statistics/time_to_target.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

// A cell's settings that are still in the race, by number.
using Race = std::map<std::pair<std::string, std::vector<std::string>>, std::vector<std::size_t>>;

constexpr double worst = std::numeric_limits<double>::infinity();

// The mean of a value of the validation set; `sign` -1 where larger is better. Infinite where a run has none.
double mean_of(std::span<const analysis::StudyRun> runs, const char* key, double sign) {
  double sum = 0;
  for (const analysis::StudyRun& run : runs) {
    const Json value = run.summary.value(Json::json_pointer("/final_validation/" + std::string(key)), Json());
    if (!value.is_number()) return worst;
    sum += sign * value.get<double>();
  }
  return sum / static_cast<double>(runs.size());
}

// Up to `budget`, the same for all settings of a cell.
double mean_time(std::span<const analysis::StudyRun> runs, double budget) {
  double sum = 0;
  for (const analysis::StudyRun& run : runs) {
    const statistics::TimedRun one = analysis::timed(run);
    sum += one.reached ? std::min(one.time_s, budget) : budget;
  }
  return sum / static_cast<double>(runs.size());
}

// Smaller is better; equal times are told apart by the loss.
struct Score {
  double value = worst, loss = worst;
  auto operator<=>(const Score&) const = default;
};

Score score_of(TuneMeasure measure, std::span<const analysis::StudyRun> runs, double budget) {
  const double loss = mean_of(runs, "loss", 1);
  switch (measure) {
    case TuneMeasure::time_to_target: return {mean_time(runs, budget), loss};
    case TuneMeasure::accuracy: return {mean_of(runs, "accuracy", -1), loss};
    case TuneMeasure::loss: break;
  }
  return {loss, loss};
}

std::string label_of(const TuneSetting& setting) { return fmt::format("{}", fmt::join(setting.sets, " ")); }

// The cells with the results of their settings, by the settings' labels.
struct Cells {
  explicit Cells(const analysis::Study& study) {
    for (const analysis::Cell& cell : study.cells) {
      std::vector<std::string> condition = cell.condition;
      const std::string setting = condition.back();
      condition.pop_back();
      results[{cell.arm, condition}].emplace(setting, &cell);
    }
  }
  std::map<Race::key_type, std::map<std::string, const analysis::Cell*>> results;
};

class Tuner {
 public:
  Tuner(const Command& command, const TuneSpec& spec, const MakeTrials& make)
      : command_(command), spec_(spec), make_(make), settings_(settings_of(spec)) {}

  std::optional<Tuning> run() {
    start();
    const std::vector<TrialRound> rounds = rounds_of(spec_);
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      if (!make_round(rounds[i].seeds)) return std::nullopt;
      const std::size_t left = i + 1 < rounds.size() ? rounds[i + 1].settings : 1;
      for (auto& [cell, in_race] : race_) in_race.resize(left);
    }
    for (const auto& [cell, in_race] : race_) {
      const TuneSetting& best = settings_[in_race.front()];
      tuning_.cells.push_back(
          {cell.first, cell.second, best, scores_[cell][in_race.front()].value, fields_at_edge(spec_, best)});
    }
    return std::move(tuning_);
  }

 private:
  // Every cell has every setting.
  void start() {
    const Plan plan = plan_study(command_, false);
    std::vector<std::size_t> all(settings_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (const PlannedRun& run : plan.runs) {
      if (std::ranges::find(spec_.seeds, run.seed) != spec_.seeds.end())
        throw Refused(fmt::format("[tune]: seed {} is the study's own", run.seed),
                      "trials need other seeds: what is tuned on a seed is too good on it");
      race_[{run.arm, run.condition}] = all;
    }
  }

  // Makes what is in the race with the first `seeds` seeds, and sorts it: the best first.
  bool make_round(std::size_t seeds) {
    Command command = command_;
    command.seed.reset();
    command.seeds = fmt::format("{}", fmt::join(std::span(spec_.seeds).first(seeds), ","));
    const auto variants = [this](const std::string& arm, const std::vector<std::string>& condition) {
      std::vector<Variant> result;
      for (const std::size_t i : race_.at({arm, condition}))
        result.push_back({label_of(settings_[i]), settings_[i].sets});
      return result;
    };
    Plan plan = plan_study(command, true, {.axis = setting_axis, .of = variants});
    const std::optional<analysis::Study> study = make_(plan);
    if (!study) return false;
    remember(plan, *study);
    sort_race(Cells(*study));
    return true;
  }

  // A round of halving has the runs of the one before.
  void remember(Plan& plan, const analysis::Study& study) {
    for (PlannedRun& run : plan.runs) {
      run.loaded.reset();
      if (std::ranges::find(tuning_.trials, run.hash, &PlannedRun::hash) == tuning_.trials.end())
        tuning_.trials.push_back(std::move(run));
    }
    for (const analysis::Cell& cell : study.cells) {
      for (const analysis::StudyRun& run : cell.runs) {
        if (counted_.insert(run.run).second)
          tuning_.simulated_seconds += run.summary["sim_time_s"].get<double>();
      }
    }
  }

  void sort_race(const Cells& cells) {
    for (auto& [key, in_race] : race_) {
      const auto& results = cells.results.at(key);
      double budget = 0;
      for (const auto& [label, cell] : results) {
        for (const analysis::StudyRun& run : cell->runs)
          budget = std::max(budget, run.summary["sim_time_s"].get<double>());
      }
      std::map<std::size_t, Score>& scores = scores_[key];
      for (const std::size_t i : in_race)
        scores[i] = score_of(spec_.measure, results.at(label_of(settings_[i]))->runs, budget);
      std::ranges::stable_sort(in_race, {}, [&](std::size_t i) { return scores.at(i); });
    }
  }

  const Command& command_;
  const TuneSpec& spec_;
  const MakeTrials& make_;
  std::vector<TuneSetting> settings_;
  Race race_;
  std::map<Race::key_type, std::map<std::size_t, Score>> scores_;
  std::set<std::string> counted_;
  Tuning tuning_;
};

}  // namespace

std::optional<Tuning> tune(const Command& command, const TuneSpec& spec, const MakeTrials& make) {
  return Tuner(command, spec, make).run();
}

Variants tuned_variants(const Json& tuning) {
  const auto of = [best = tuning["best"]](const std::string& arm, const std::vector<std::string>& condition) {
    const auto found = std::ranges::find_if(
        best, [&](const Json& one) { return one["arm"] == arm && one["condition"] == condition; });
    if (found == best.end())
      throw Refused(fmt::format("nothing was tuned for {}", arm), "the study's files do not fit together");
    return std::vector<Variant>{{analysis::untuned, {}}, {analysis::tuned, (*found)["sets"]}};
  };
  return {.axis = analysis::tuning_axis, .of = of};
}

Json Tuning::document(const TuneSpec& spec) const {
  Json found = Json::array(), runs = Json::array();
  for (const Tuned& one : cells)
    found.push_back({{"arm", one.arm},
                     {"condition", one.condition},
                     {"sets", one.setting.sets},
                     {"score", std::isfinite(one.score) ? Json(one.score) : Json()},
                     {"at_edge", one.at_edge}});
  for (const PlannedRun& run : trials) runs.push_back(run.hash);
  return {{"method", name_of(spec.method)},
          {"measure", name_of(spec.measure)},
          {"settings_per_arm", settings_of(spec).size()},
          {"trials", trials.size()},
          {"simulated_s", simulated_seconds},
          {"best", found},
          {"runs", runs}};
}

std::vector<TrialRound> rounds_of(const TuneSpec& spec) {
  std::vector<TrialRound> rounds{{.settings = settings_of(spec).size(), .seeds = spec.seeds.size()}};
  if (spec.method != TuneMethod::halving) return rounds;
  rounds.front().seeds = 1;
  for (TrialRound next = rounds.front(); next.settings > 1 && next.seeds < spec.seeds.size();) {
    next = {(next.settings + 1) / 2, std::min(2 * next.seeds, spec.seeds.size())};
    rounds.push_back(next);
  }
  return rounds;
}

Effort effort_of(const Plan& plan) {
  Effort effort{.runs = plan.runs.size()};
  if (!plan.tune) return effort;
  std::set<std::int64_t> seeds;
  for (const PlannedRun& run : plan.runs) seeds.insert(run.seed);
  const std::size_t cells = plan.runs.size() / seeds.size();
  const auto times = [&](std::size_t runs) {
    return static_cast<double>(runs) / static_cast<double>(plan.runs.size());
  };
  effort = {
      .runs = 2 * plan.runs.size(), .rounds = 1, .times = 2, .largest = 2};  // each arm as it is, and tuned
  std::size_t seeds_before = 0;
  for (const TrialRound& round : rounds_of(*plan.tune)) {
    const std::size_t trials =
        cells * round.settings * (round.seeds - std::exchange(seeds_before, round.seeds));
    effort.runs += trials;
    ++effort.rounds;
    effort.times += times(trials);
    effort.largest = std::max(effort.largest, times(trials));
  }
  return effort;
}

}  // namespace psim::cli
