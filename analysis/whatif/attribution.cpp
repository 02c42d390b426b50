// Which workers slowed a run by uneven computing.
#include <algorithm>
#include <utility>

#include "analysis/whatif/predict.hpp"

namespace psim::analysis {
namespace {

// By worker and clock: seconds of computing.
std::vector<std::vector<double>> computing_of(const CausalGraph& graph, const Facts& facts) {
  std::vector<std::vector<double>> seconds(facts.workers);
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Moment& effect = graph.moments[id];
    if (!facts.is_worker(effect.node) || effect.clock < 0) continue;
    const auto [edge, last] = out_edges(id, graph.moments);
    if (edge == last || graph.moments[*edge].kind != Kind::compute) continue;
    auto& clocks = seconds[facts.worker(effect.node)];
    const auto clock = static_cast<std::size_t>(effect.clock);
    if (clocks.size() <= clock) clocks.resize(clock + 1, 0);
    clocks[clock] += graph.moments[*edge].least;
  }
  return seconds;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// By worker and clock: the factor that makes its computing as long as the median worker's.
std::vector<std::vector<double>> evening(const std::vector<std::vector<double>>& seconds) {
  std::vector<std::vector<double>> factors(seconds.size());
  std::size_t clocks = 0;
  for (std::size_t w = 0; w < seconds.size(); ++w) {
    factors[w].assign(seconds[w].size(), 1);
    clocks = std::max(clocks, seconds[w].size());
  }
  for (std::size_t clock = 0; clock < clocks; ++clock) {
    std::vector<double> there;
    for (const auto& worker : seconds) {
      if (clock < worker.size() && worker[clock] > 0) there.push_back(worker[clock]);
    }
    if (there.empty()) continue;
    const double typical = median(std::move(there));
    for (std::size_t w = 0; w < seconds.size(); ++w) {
      if (clock < seconds[w].size() && seconds[w][clock] > 0) factors[w][clock] = typical / seconds[w][clock];
    }
  }
  return factors;
}

}  // namespace

std::optional<Attribution> attribution_of(const RunRecord& record, const CausalGraph& graph,
                                          const Predictor& predictor) {
  if (!record.jobs.empty() || record.summary.value("architecture", "") == "model-parallel" ||
      record.facts.workers < 2 || record.facts.workers > most_blamed || record.facts.copies_over_bus ||
      predictor.is_stuck())
    return std::nullopt;
  const double total = predictor.original().end;
  const std::vector<std::vector<double>> seconds = computing_of(graph, record.facts);
  Hypothesis ideal;
  ideal.of_clock = evening(seconds);
  Attribution all{.ideal = predictor.under(ideal).end, .workers = {}};
  if (!(all.ideal > 0)) return std::nullopt;
  all.slowdown = total / all.ideal;
  if (all.slowdown < least_slowdown) return all;
  for (std::uint32_t w = 0; w < record.facts.workers; ++w) {
    Hypothesis removed, added = ideal;
    removed.of_clock.resize(ideal.of_clock.size());
    removed.of_clock[w] = ideal.of_clock[w];
    added.of_clock[w].clear();
    const double lost = total - all.ideal;
    all.workers.push_back({.worker = w,
                           .removed = (total - predictor.under(removed).end) / lost,
                           .added = (predictor.under(added).end - all.ideal) / lost});
  }
  std::ranges::stable_sort(all.workers, std::ranges::greater{}, &Blamed::removed);
  return all;
}

}  // namespace psim::analysis
