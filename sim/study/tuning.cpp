#include "sim/study/tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/statistics/paired_comparison.hpp"
#include "analysis/statistics/time_to_target.hpp"
#include "sim/runs/answer.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::study {
namespace {

// The settings of each cell that are still in the race, by number.
using Race = std::map<std::pair<std::string, std::vector<std::string>>, std::vector<std::size_t>>;

constexpr double worst = std::numeric_limits<double>::infinity();

// The mean of a value on the validation set; `sign` is -1 if larger is better. Infinite if a run lacks the
// value.
double mean_of(std::span<const analysis::StudyRun> runs, const char* key, double sign) {
  double sum = 0;
  for (const analysis::StudyRun& run : runs) {
    const Json value = run.summary.value(Json::json_pointer("/final_validation/" + std::string(key)), Json());
    if (!value.is_number()) return worst;
    sum += sign * value.get<double>();
  }
  return sum / static_cast<double>(runs.size());
}

// The mean time up to `budget`, which is the same for all settings of a cell.
double mean_time(std::span<const analysis::StudyRun> runs, double budget) {
  double sum = 0;
  for (const analysis::StudyRun& run : runs) {
    const statistics::TimedRun one = analysis::timed(run);
    sum += one.reached ? std::min(one.time_s, budget) : budget;
  }
  return sum / static_cast<double>(runs.size());
}

// Smaller is better. The loss decides between equal times.
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

// The score of a setting in its last round.
struct Scored {
  Score score;
  std::size_t rung = 0, seeds = 0;
};

std::string label_of(const TuneSetting& setting) { return fmt::format("{}", fmt::join(setting.sets, " ")); }

// The cells with the results of their settings, by label.
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
  Tuner(const Request& request, const TuneSpec& spec, const MakeTrials& make)
      : request_(request), spec_(spec), make_(make), settings_(settings_of(spec)) {}

  std::optional<Tuning> run() {
    start();
    const std::vector<TrialRound> rounds = rounds_of(spec_);
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      if (!make_round(i + 1, rounds[i].seeds)) return std::nullopt;
      const std::size_t left = i + 1 < rounds.size() ? rounds[i + 1].settings : 1;
      for (auto& [cell, in_race] : race_) in_race.resize(left);
    }
    for (const Race::key_type& cell : order_) {
      const std::size_t chosen = race_.at(cell).front();
      const std::map<std::size_t, Scored>& scores = scores_.at(cell);
      const TuneSetting& best = settings_[chosen];
      tuning_.cells.push_back({cell.first, cell.second, best, measured(scores.at(chosen).score.value),
                               fields_at_edge(spec_, best)});
      for (const auto& [number, one] : scores)
        tuning_.tried.push_back({cell.first, cell.second, settings_[number], measured(one.score.value),
                                 one.seeds, one.rung, number == chosen});
    }
    return std::move(tuning_);
  }

 private:
  // Every cell has every setting.
  void start() {
    const Plan plan = plan_study(request_, false);
    std::vector<std::size_t> all(settings_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (const PlannedRun& run : plan.runs) {
      if (std::ranges::find(spec_.seeds, run.seed) != spec_.seeds.end())
        throw Refused(fmt::format("[tune]: seed {} is the study's own", run.seed),
                      "trials need other seeds: a setting tuned on a seed looks too good on that seed");
      if (race_.try_emplace({run.arm, run.condition}, all).second)
        order_.emplace_back(run.arm, run.condition);
    }
  }

  // The score as measured on the validation set.
  double measured(double score) const {
    return spec_.measure == TuneMeasure::accuracy && std::isfinite(score) ? -score : score;
  }

  // Runs the settings in the race with the first `seeds` seeds, and sorts them, the best first.
  bool make_round(std::size_t rung, std::size_t seeds) {
    Request request = without_seed(request_);  // trials have their own seeds
    request.seeds = fmt::format("{}", fmt::join(std::span(spec_.seeds).first(seeds), ","));
    const auto variants = [this](const std::string& arm, const std::vector<std::string>& condition) {
      std::vector<Variant> result;
      for (const std::size_t i : race_.at({arm, condition}))
        result.push_back({label_of(settings_[i]), settings_[i].sets});
      return result;
    };
    Plan plan = plan_study(request, true, {.axis = setting_axis, .of = variants});
    const std::optional<analysis::Study> study = make_(plan);
    if (!study) return false;
    remember(plan, *study);
    sort_race(Cells(*study), rung, seeds);
    return true;
  }

  // A round of halving repeats the runs of the round before.
  void remember(Plan& plan, const analysis::Study& study) {
    for (PlannedRun& run : plan.runs) {
      run.loaded.reset();
      if (labels_.insert({run.arm, run.condition, run.seed}).second) tuning_.trials.push_back(std::move(run));
    }
    for (const analysis::Cell& cell : study.cells) {
      for (const analysis::StudyRun& run : cell.runs) {
        if (counted_.insert(run.run).second)
          tuning_.simulated_seconds += run.summary["sim_time_s"].get<double>();
      }
    }
  }

  void sort_race(const Cells& cells, std::size_t rung, std::size_t seeds) {
    for (auto& [key, in_race] : race_) {
      const auto& results = cells.results.at(key);
      double budget = 0;
      for (const auto& [label, cell] : results) {
        for (const analysis::StudyRun& run : cell->runs)
          budget = std::max(budget, run.summary["sim_time_s"].get<double>());
      }
      std::map<std::size_t, Scored>& scores = scores_[key];
      for (const std::size_t i : in_race)
        scores[i] = {score_of(spec_.measure, results.at(label_of(settings_[i]))->runs, budget), rung, seeds};
      std::ranges::stable_sort(in_race, {}, [&](std::size_t i) { return scores.at(i).score; });
    }
  }

  const Request& request_;
  const TuneSpec& spec_;
  const MakeTrials& make_;
  std::vector<TuneSetting> settings_;
  Race race_;
  std::vector<Race::key_type> order_;  // of the cells, as in the study
  std::map<Race::key_type, std::map<std::size_t, Scored>> scores_;
  std::set<std::tuple<std::string, std::vector<std::string>, std::int64_t>> labels_;  // of the trials
  std::set<std::string> counted_;
  Tuning tuning_;
};

}  // namespace

std::optional<Tuning> tune(const Request& request, const TuneSpec& spec, const MakeTrials& make) {
  return Tuner(request, spec, make).run();
}

Variants tuned_variants(const Json& tuning) {
  const auto of = [best = tuning["best"]](const std::string& arm, const std::vector<std::string>& condition) {
    const auto found = std::ranges::find_if(
        best, [&](const Json& one) { return one["arm"] == arm && one["condition"] == condition; });
    if (found == best.end())
      throw Refused(fmt::format("nothing was tuned for {}", arm), "the study's files contradict each other");
    return std::vector<Variant>{{analysis::untuned, {}}, {analysis::tuned, (*found)["sets"]}};
  };
  return {.axis = analysis::tuning_axis, .of = of};
}

Json Tuning::document(const TuneSpec& spec) const {
  Json found = Json::array(), runs = Json::array(), settings = Json::array();
  for (const Tried& one : tried) {
    Json values = Json::object();
    for (const std::string& set : one.setting.sets) {
      const Override field = *override_of(set);
      values[field.key] = field.value;
    }
    settings.push_back({{"arm", one.arm},
                        {"condition", one.condition},
                        {"values", values},
                        {"rung", one.rung},
                        {"seeds", one.seeds},
                        {"score", std::isfinite(one.score) ? Json(one.score) : Json()},
                        {"chosen", one.chosen}});
  }
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
          {"settings", settings},
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

namespace {

// The number of new trials of all cells in each round.
std::vector<std::size_t> trials_of(const Plan& plan) {
  std::vector<std::size_t> trials;
  if (!plan.tune) return trials;
  std::set<std::int64_t> seeds;
  for (const PlannedRun& run : plan.runs) seeds.insert(run.seed);
  const std::size_t cells = plan.runs.size() / seeds.size();
  std::size_t seeds_before = 0;
  for (const TrialRound& round : rounds_of(*plan.tune))
    trials.push_back(cells * round.settings * (round.seeds - std::exchange(seeds_before, round.seeds)));
  return trials;
}

}  // namespace

RunCount count_of(const Plan& plan) {
  const std::vector<std::size_t> trials = trials_of(plan);
  return {.runs = plan.tune ? 2 * plan.runs.size() : plan.runs.size(),  // each arm untuned and tuned
          .trials = std::accumulate(trials.begin(), trials.end(), std::size_t{0})};
}

std::string text_of(const RunCount& count) {
  const std::size_t all = count.runs + count.trials;
  const std::string text = counted(static_cast<std::int64_t>(all), "run");
  return count.trials == 0
             ? text
             : fmt::format("{} ({} of [tune] and {} of the study)", text,
                           counted(static_cast<std::int64_t>(count.trials), "trial"), count.runs);
}

Effort effort_of(const Plan& plan) {
  const RunCount count = count_of(plan);
  const auto times = [&](std::size_t runs) {
    return static_cast<double>(runs) / static_cast<double>(plan.runs.size());
  };
  Effort effort{.runs = count.runs + count.trials,
                .rounds = 1,
                .times = times(count.runs + count.trials),
                .largest = times(count.runs)};
  for (const std::size_t trials : trials_of(plan)) {
    ++effort.rounds;
    effort.largest = std::max(effort.largest, times(trials));
  }
  return effort;
}

namespace {

constexpr std::size_t most_seeds = 10'000;

// The first `count` seeds: the given seeds, then the next higher numbers.
Request with_seeds(Request request, const Plan& plan, std::size_t count) {
  std::set<std::int64_t> seeds;
  for (const PlannedRun& run : plan.runs) seeds.insert(run.seed);
  for (std::int64_t next = *seeds.rbegin() + 1; seeds.size() < count; ++next) {
    const bool is_trials = plan.tune && std::ranges::find(plan.tune->seeds, next) != plan.tune->seeds.end();
    if (!is_trials) seeds.insert(next);
  }
  request = without_seed(std::move(request));
  request.seeds = fmt::format("{}", fmt::join(seeds, ","));
  return request;
}

}  // namespace

EnoughSeeds with_enough_seeds(const Request& request, double half_width, const Variants& variants,
                              const std::function<analysis::Study(Plan&)>& make) {
  const statistics::Precision precision{.relative_half_width = half_width};
  const Request pilot = with_seeds(request, plan_study(request, false), precision.pilot);
  Plan plan = plan_study(pilot, true, variants);
  const analysis::Study study = make(plan);
  const analysis::Evaluation evaluation = analysis::evaluate(study);
  std::size_t seeds = 0;
  bool compares = false;
  for (const analysis::Aggregate& one : evaluation.aggregates) {
    if (!one.versus) continue;
    if (!one.versus->replicates) {  // its seeds do not differ, so more seeds do not help
      compares = true;
      seeds = std::max(seeds, precision.pilot);
    }
    if (!analysis::has_width(*one.versus)) continue;
    compares = true;
    seeds = std::max(seeds, statistics::plan_seeds(one.versus->values, precision).seeds);
  }
  if (!compares)
    throw Refused("--until-ci: no arm has a ratio to the baseline",
                  "it needs two arms and known times: a target that is reached, or runs that end");
  if (seeds > most_seeds)
    throw Refused(fmt::format("--until-ci: this would need {} seeds", seeds),
                  "allow a wider interval, or compare over a longer budget");
  return {.request = with_seeds(request, plan, seeds),
          .record = {{"half_width", half_width},
                     {"pilot_seeds", precision.pilot},
                     {"seeds", seeds},
                     {"baseline", study.baseline}}};
}

}  // namespace psim::study
