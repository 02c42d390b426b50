#include "analysis/whatif/predict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/causes/explain.hpp"

namespace psim::analysis {
namespace {

// The date when the last worker finishes.
double last_finish(const CausalGraph& graph, const std::vector<double>& dates) {
  double last = 0;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    if (graph.moments[id].type == Name("finish")) last = std::max(last, dates[id]);
  }
  return last;
}

std::vector<double> dates_of(const CausalGraph& graph) {
  std::vector<double> dates(graph.size());
  for (std::uint32_t id = 0; id < graph.size(); ++id) dates[id] = graph.moments[id].at;
  return dates;
}

std::vector<bool> still_computing(const Actual& run, std::size_t workers) {
  return run.is_finished ? std::vector<bool>(workers, false) : run.progress.going_on(run.end);
}

double least_factor(const Change& change) { return std::max(change.factor, hardly_any); }

// Whether the change removes the fault.
bool leaves_out(const Change& change, const CausalGraph& graph, const Moment& fault) {
  if (change.nodes.empty()) return true;
  const std::string_view kind = graph.word_of(fault);
  return (kind == "crash" || kind == "restart" || kind == "leave" || kind == "join") &&
         std::ranges::find(change.nodes, fault.node) != change.nodes.end();
}

}  // namespace

Actual actual(const RunRecord& record, const CausalGraph& graph) {
  const double end = record.summary.at("sim_time_s");
  const std::uint32_t last = end_of(graph, end, record.summary, {}, Until::What::end);
  return {.progress = Progress(graph, record.facts, dates_of(graph), end),
          .is_finished = last != CausalGraph::none && graph.moments[last].type == Name("finish"),
          .end = end};
}

Predictor::Predictor(const RunRecord& record, const CausalGraph& graph)
    : record_(record),
      graph_(graph),
      replay_(record, graph, Traffic(record)),
      original_(actual(record, graph)),
      goes_on_(still_computing(original_, record.facts.workers)),
      is_stuck_(!record.summary.at("stuck").empty()) {}

Prediction Predictor::under(const Hypothesis& hypothesis) const {
  const std::vector<double> dates = replay_.dates(hypothesis);
  Prediction predicted{.progress = Progress(graph_, record_.facts, dates, original_.end),
                       .goes_on = goes_on_};
  if (original_.is_finished) {
    predicted.end = last_finish(graph_, dates);
    return predicted;
  }
  const std::int64_t steps = original_.progress.steps();
  const double last_step = original_.progress.date_of(steps),
               with_more = original_.progress.date_of_more(steps, goes_on_);
  if (with_more > 0) predicted.scale = last_step / with_more;
  predicted.end =
      predicted.scale * predicted.progress.date_of_more(steps, goes_on_) + original_.end - last_step;
  return predicted;
}

std::optional<Prediction> Predictor::of(const Change& change) const {
  if (is_stuck_) return std::nullopt;  // a stuck run has no end to predict
  Hypothesis hypothesis;
  const Facts& facts = record_.facts;
  const bool is_about_computing =
      change.what == Change::What::compute || change.what == Change::What::no_straggler;
  // The change does not affect copies over the bus, and the record does not tell copies from computing.
  if (is_about_computing && facts.copies_over_bus) return std::nullopt;
  switch (change.what) {
    case Change::What::set:
    case Change::What::later_crash: return std::nullopt;
    case Change::What::no_fault: return without_faults(change);
    case Change::What::bandwidth: hypothesis.bandwidth = change.factor; break;
    case Change::What::latency: hypothesis.latency = change.factor; break;
    case Change::What::window: hypothesis.window = change.factor; break;
    case Change::What::server_work: hypothesis.server_work = change.factor; break;
    case Change::What::overhead:
      if (!facts.fault_factors.empty()) return std::nullopt;  // a fault may have delayed messages there
      hypothesis.overhead = change.factor;
      break;
    case Change::What::compute:
      hypothesis.compute.assign(facts.workers, change.nodes.empty() ? least_factor(change) : 1);
      for (const std::uint32_t node : change.nodes)
        hypothesis.compute[facts.worker(node)] = least_factor(change);
      break;
    case Change::What::no_straggler:
      hypothesis.never_slow.assign(facts.workers, change.nodes.empty());
      for (const std::uint32_t node : change.nodes) hypothesis.never_slow[facts.worker(node)] = true;
      // The record does not say which steps were slow by chance.
      for (const Straggler& slow : facts.stragglers) {
        const bool is_meant = std::ranges::any_of(
            slow.workers, [&](std::uint32_t worker) { return hypothesis.never_slow[worker]; });
        if (slow.probability && is_meant) return std::nullopt;
      }
      break;
  }
  return under(hypothesis);
}

std::optional<Prediction> Predictor::without_faults(const Change& change) const {
  double first = std::numeric_limits<double>::infinity();
  bool is_any_left = false;
  for (std::uint32_t id = 0; id < graph_.size(); ++id) {
    const Moment& moment = graph_.moments[id];
    if (moment.type != Name("fault")) continue;
    if (leaves_out(change, graph_, moment)) first = std::min(first, moment.at);
    else is_any_left = true;
  }
  // The graph does not know what the remaining faults would do to work that they did not hit.
  if (is_any_left || std::isinf(first)) return std::nullopt;
  Prediction predicted{.progress = Progress(graph_, record_.facts, dates_of(graph_), first),
                       .goes_on = std::vector<bool>(record_.facts.workers, true)};
  const std::int64_t steps = original_.progress.steps();
  predicted.end = (original_.is_finished ? predicted.progress.date_of_all(original_.progress.most())
                                         : predicted.progress.date_of_more(steps, predicted.goes_on)) +
                  original_.end - original_.progress.date_of(steps);
  if (std::isinf(predicted.end)) return std::nullopt;
  return predicted;
}

std::optional<double> error_of(const Prediction& predicted, const Actual& original, const Actual& rerun) {
  if (original.is_finished && rerun.is_finished) return predicted.end / rerun.end - 1;
  const std::int64_t steps = std::min(original.progress.steps(), rerun.progress.steps());
  const double really = rerun.progress.date_of(steps);
  if (steps == 0 || !(really > 0)) return std::nullopt;
  return predicted.scale * predicted.progress.date_of_more(steps, predicted.goes_on) / really - 1;
}

std::optional<SameSteps> same_steps_of(const Actual& original, const Actual& rerun) {
  const std::int64_t steps = original.progress.steps();
  if (original.is_finished && rerun.is_finished && rerun.progress.steps() == steps)
    return SameSteps{.seconds = rerun.end};
  const double date = rerun.progress.date_of_more(steps, still_computing(rerun, rerun.progress.workers()));
  if (steps == 0 || std::isinf(date)) return std::nullopt;
  return SameSteps{.seconds = date + original.end - original.progress.date_of(steps),
                   .is_measured = rerun.progress.steps() >= steps};
}

}  // namespace psim::analysis
