#include "sim/study/until_ci.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "analysis/statistics/sample_size.hpp"
#include "sim/runs/answer.hpp"

namespace psim::study {
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
