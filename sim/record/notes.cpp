#include "sim/record/notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

using Texts = std::vector<std::string>;

// The training of one namespace; without groups, of the run.
struct Training {
  std::string name;  // its groups, as a prefix; empty without groups
  const Scenario& scenario;
  const std::vector<CurvePoint>& curve;
  const std::optional<CurvePoint>& target;  // the point that reached the target
  std::int64_t stalest = 0;                 // the highest staleness of its applied pushes, in updates
  bool drops = false;                       // some of its pushes were too stale
};

// Adds the staleness of the pushes of its workers.
void add_staleness(Training& one, std::span<const WorkerStats> workers) {
  for (const WorkerStats& worker : workers) {
    const StalenessCounts& counts = worker.staleness;
    if (!counts.applied.empty()) one.stalest = std::max(one.stalest, counts.applied.rbegin()->first);
    one.drops = one.drops || !counts.dropped.empty() || worker.cancelled > 0;
  }
}

std::vector<Training> trainings(const Scenario& scenario, const RunResult& run) {
  const std::span<const WorkerStats> workers = run.stats.workers;
  std::vector<Training> all;
  for (std::size_t n = 0; n < run.spaces.size(); ++n) {
    const SpaceResult& space = run.spaces[n];
    std::string names;
    for (const std::size_t group : space.groups)
      names += (names.empty() ? "" : ", ") + scenario.groups[group].name;
    all.push_back({names + ": ", space.scenario, space.curve, space.target});
    const SpaceStats& its = run.stats.spaces[n];
    add_staleness(all.back(), workers.subspan(its.first_worker, its.workers));
  }
  if (!all.empty()) return all;
  all.push_back({"", scenario, run.curve, run.target});
  add_staleness(all.back(), workers);
  return all;
}

// Null without an evaluation.
const CurvePoint* first_of(const Training& one) { return one.curve.empty() ? nullptr : &one.curve.front(); }
const CurvePoint* last_of(const Training& one) { return one.curve.empty() ? nullptr : &one.curve.back(); }

Texts late_stragglers(const Scenario& scenario, const RunResult& run) {
  Texts texts;
  for (std::size_t i = 0; i < scenario.stragglers.size(); ++i) {
    const StragglerSpec& straggler = scenario.stragglers[i];
    if (!straggler.from || straggler.from->value < run.sim_time) continue;
    texts.push_back(fmt::format(
        "straggler.{} slowed no worker down: it begins at {:.4g} s, but the run ended at {:.4g} s", i,
        straggler.from->value, run.sim_time));
  }
  return texts;
}

Texts idle_stragglers(const Scenario& scenario, const RunResult&) {
  Texts texts;
  for (std::size_t i = 0; i < scenario.stragglers.size(); ++i) {
    const StragglerSpec& straggler = scenario.stragglers[i];
    if (straggler.slowdown != 1 && straggler.probability != 0.0) continue;
    texts.push_back(fmt::format("straggler.{} slowed no worker down: its {}", i,
                                straggler.slowdown == 1 ? "slowdown is 1" : "probability is 0"));
  }
  return texts;
}

// Why a fault never happened.
std::string why_never(const FaultSpec& fault, double end) {
  if (!fault.when.empty()) return fmt::format("its condition `{}` never held", fault.when);
  const std::optional<Seconds>& begin = fault.at ? fault.at : fault.from;
  if (begin) return fmt::format("it comes at {:.4g} s, but the run ended at {:.4g} s", begin->value, end);
  return fmt::format("the run ended at {:.4g} s, before it came for the first time", end);
}

// Why a fault happened without an effect.
std::string why_in_vain(const FaultSpec& fault) {
  if (fault.factor) return "its factor is 1";
  return std::string(fault.kind->in_vain);
}

Texts idle_faults(const Scenario& scenario, const RunResult& run) {
  Texts texts;
  for (std::size_t i = 0; i < run.faults.size(); ++i) {
    const FaultSpec& fault = scenario.faults[i];
    const std::string name = fmt::format("fault.{} ({})", i, name_of(fault.kind));
    if (!run.faults[i].happened)
      texts.push_back(fmt::format("{} never happened: {}", name, why_never(fault, run.sim_time)));
    else if (!run.faults[i].mattered)
      texts.push_back(fmt::format("{} changed nothing: {}", name, why_in_vain(fault)));
  }
  return texts;
}

Texts idle_filters(const Scenario& scenario, const RunResult& run) {
  Texts texts;
  const bool has_pulls = scenario.architecture.has_servers();
  const auto look = [&](const std::vector<FilterSpec>& filters) {
    for (const FilterSpec& filter : filters) {
      for (const bool push : {true, false}) {
        if (!filter.works_on(push) || (!push && !has_pulls) || run.filters_used.contains({filter.kind, push}))
          continue;
        const std::string text =
            fmt::format("filter {} never made a {} smaller", name_of(filter.kind), push ? "push" : "pull");
        if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
      }
    }
  };
  for (const Training& one : trainings(scenario, run)) look(one.scenario.filters);
  return texts;
}

Texts unseen_targets(const Scenario& scenario, const RunResult& run) {
  Texts texts;
  for (const Training& one : trainings(scenario, run)) {
    constexpr std::size_t ends = 2;  // evaluations that every run has: of the first and of the last weights
    if (!one.scenario.training.target.given() || one.curve.empty() || one.curve.size() > ends) continue;
    texts.push_back(
        fmt::format("{}psim checked the target only at the start and at the end: the run took "
                    "{:.4g} s and {}; give a shorter training.evaluate_every",
                    one.name, last_of(one)->at, counted(last_of(one)->updates, "update")));
  }
  return texts;
}

// A rounded speed at which computing takes about half of the time.
std::string slower(double speed, double share) {
  const double wanted = speed * share / (1 - share);
  const double digit = std::pow(10.0, std::floor(std::log10(wanted)));
  const double round = std::max(1.0, std::max(1.0, std::round(wanted / digit)) * digit);
  if (round < 1e3) return fmt::format("{:.0f}f", round);
  return round >= 1e6 ? fmt::format("{:.0f}Mf", round / 1e6) : fmt::format("{:.0f}kf", round / 1e3);
}

Texts little_computing(const Scenario& scenario, const RunResult& run) {
  constexpr double little = 0.05;  // of the time of the worker that computes most
  double compute = 0, all = 0, most = 0;
  for (const WorkerStats& worker : run.stats.workers) {
    const double total = worker.time.total();
    if (!(total > 0)) continue;
    compute += worker.time.compute;
    all += total;
    most = std::max(most, worker.time.compute / total);
  }
  if (!(compute > 0) || most >= little || !run.stuck.empty()) return {};
  const double speed = scenario.cluster.worker.speed.of(0).value;
  const bool in_seconds = std::ranges::any_of(scenario.compute.factors(), &FactorSpec::is_in_seconds);
  const std::string help =
      in_seconds ? "its seconds are those of the trace, so check cluster.network.bandwidth and the size of "
                   "the model"
      : scenario.compute.time
          ? "give a longer compute.time"
          : fmt::format(
                "slow the workers, for example with --set cluster.worker.speed={}, or give compute.time",
                slower(speed, compute / all));
  return {fmt::format("computing is {:.2g} % of the time, so a straggler has almost no effect; {}",
                      100 * compute / all, help)};
}

// Where a loss became NaN although the learning rate may be right; empty: nowhere.
std::string overflow_text(const Scenario& scenario, const TrainingSpec& training, const RunResult& run) {
  const std::string_view precision = name_of(scenario.model.precision);
  const bool divides = !scenario.sums_in_half() || scenario.divides_first();
  const std::string divide = "--set architecture.divide_first=true divides gradients before they are summed";
  if (!run.filters_overflowed.empty()) {
    const FilterRow& filter = **run.filters_overflowed.begin();
    return fmt::format("filter {} made a value infinite ({}); {}", filter.name, filter.doc,
                       divides ? "a filter that scales its codes, such as fixed-point, does not" : divide);
  }
  if (run.scale_overflows)
    return fmt::format(
        "a gradient times training.loss_scale is larger than {} can be; a smaller one helps, for "
        "example --set training.loss_scale={:g}",
        precision, std::max(1.0, training.loss_scale / 16));
  if (run.sum_overflows)
    return fmt::format("a sum of gradients is larger than {} can be; {}", precision,
                       divides ? "--set model.precision=float32 does not have this limit" : divide);
  return {};
}

// What wrong pushes do to the loss, and a remedy if there is one; empty without a fault that corrupts pushes.
std::string wrong_pushes_text(const Scenario& scenario) {
  if (std::ranges::none_of(scenario.faults, [](const FaultSpec& fault) { return fault.kind->corrupts; }))
    return "";
  const bool is_mean = scenario.architecture.has_servers() &&
                       !scenario.consistency.aggregation.row->combine &&
                       make_rule(scenario.consistency, scenario.cluster.workers).group > 2;
  return is_mean ? "workers push wrong values; --set consistency.aggregation=median leaves out those of a few"
                 : "workers push wrong values";
}

Texts risen_losses(const Scenario& scenario, const RunResult& run) {
  Texts texts;
  for (const Training& one : trainings(scenario, run)) {
    if (one.curve.size() < 2) continue;
    const double first = first_of(one)->result.loss, last = last_of(one)->result.loss;
    if (last <= first) continue;  // false where it is not a number
    const TrainingSpec& training = one.scenario.training;
    std::string help = wrong_pushes_text(one.scenario);
    if (help.empty() && !std::isfinite(last)) help = overflow_text(one.scenario, training, run);
    if (help.empty())
      help = fmt::format("a smaller learning rate often helps, for example --set training.learning_rate={:g}",
                         training.learning_rate / 10);
    texts.push_back(fmt::format("{}diverged: the loss went from {:.4g} to {}; {}", one.name, first,
                                std::isfinite(last) ? fmt::format("{:.4g}", last) : "NaN", help));
  }
  return texts;
}

// Servers that never had a part of the model.
Texts empty_servers(const Scenario& scenario, const RunResult& run) {
  const auto all = std::ssize(run.server_parameters);
  const auto holders = std::ranges::count_if(run.server_parameters, [](const ServerParameters& server) {
    return server.at_first > 0 || server.at_end > 0;
  });
  if (holders == all) return {};
  const bool is_ring = scenario.placement.kind == PlacementKind::hash_ring;
  const std::string reason =
      is_ring ? "the ring leaves them no keys"
              : fmt::format("it keeps arrays whole, and the model has {}",
                            counted(std::ssize(parameter_arrays(scenario.model)), "array"));
  return {
      fmt::format("{} of {} hold no parameters, because of placement.kind = \"{}\": {}; --set "
                  "cluster.servers={} needs no others, and --set placement.kind=even uses all",
                  all - holders, counted(all, "server"), name_of(scenario.placement.kind), reason, holders)};
}

Texts early_targets(const Scenario& scenario, const RunResult& run) {
  Texts texts;
  for (const Training& one : trainings(scenario, run)) {
    if (one.target && one.target->updates == 0)
      texts.push_back(one.name + "the initial weights already reach the target");
  }
  return texts;
}

Texts idle_bounds(const Scenario& scenario, const RunResult& run) {
  const ConsistencySpec& consistency = scenario.consistency;
  const bool one_job = run.spaces.empty() && scenario.architecture.has_servers();
  if (!one_job || !consistency.model->has_schedule() || !consistency.staleness_schedule.empty() ||
      scenario.cluster.workers < 2)
    return {};
  if (run.stats.clock_gap_max >= consistency.staleness) return {};
  const std::string bound =
      fmt::format("the bound of {} never mattered: ", counted(consistency.staleness, "clock"));
  if (run.stats.clock_gap_max == 0) return {bound + "all workers stayed in the same clock"};
  return {bound + fmt::format("no worker was more than {} ahead", run.stats.clock_gap_max)};
}

// Settings that act on late pushes, if no push was late.
Texts idle_corrections(const Scenario& scenario, const RunResult& run) {
  Texts texts;
  for (const Training& one : trainings(scenario, run)) {
    const TrainingSpec& training = one.scenario.training;
    if (training.delay_compensation > 0 && one.stalest == 0)
      texts.push_back(one.name + "no push was late, so training.delay_compensation changed nothing");
    const bool by_inverse = training.staleness_weight == Chosen<StalenessWeightRow>();
    if (training.staleness_aware && one.stalest <= (by_inverse ? 1 : 0))
      texts.push_back(
          fmt::format("{}no push was more than {} late, so training.staleness_aware changed nothing",
                      one.name, by_inverse ? "one update" : "zero updates"));
    const std::optional<std::int64_t>& limit = one.scenario.consistency.max_staleness;
    if (limit && one.stalest <= *limit && !one.drops)
      texts.push_back(
          fmt::format("{}no push was more than {} stale, so consistency.max_staleness changed nothing",
                      one.name, counted(*limit, "update")));
  }
  return texts;
}

Texts silent_inference(const Scenario&, const RunResult& run) {
  if (!run.inference || !run.inference->answers.empty()) return {};
  return {fmt::format("the inference group got {} and answered none",
                      counted(run.inference->requests, "request"))};
}

Texts hasty_detectors(const Scenario& scenario, const RunResult& run) {
  if (!run.failures || run.failures->false_suspicions == 0) return {};
  const std::string text = hasty_detector(scenario, run.slowest_heartbeat);
  if (text.empty()) return {};
  return {fmt::format("{} among {}: {}", counted(run.failures->false_suspicions, "false suspicion"),
                      run.failures->suspicions, text)};
}

Texts waiting_for_ever(const Scenario& scenario, const RunResult& run) {
  const std::string text = run.stuck.empty() ? "" : waits_for_ever(scenario);
  return text.empty() ? Texts{} : Texts{text};
}

struct Row {
  std::string_view name;
  Texts (*texts)(const Scenario&, const RunResult&);
};

constexpr std::array<Row, 14> rows{{
    {"diverged", risen_losses},
    {"little-computing", little_computing},
    {"empty-server", empty_servers},
    {"late-straggler", late_stragglers},
    {"idle-straggler", idle_stragglers},
    {"idle-fault", idle_faults},
    {"idle-filter", idle_filters},
    {"unseen-target", unseen_targets},
    {"early-target", early_targets},
    {"idle-bound", idle_bounds},
    {"idle-correction", idle_corrections},
    {"silent-inference", silent_inference},
    {"hasty-detector", hasty_detectors},
    {"waiting-for-ever", waiting_for_ever},
}};

}  // namespace

std::string hasty_detector(const Scenario& scenario, double way) {
  const RecoverySpec& recovery = scenario.recovery;
  const double heartbeat = recovery.heartbeat.value, timeout = recovery.timeout.value;
  const double silence = way + heartbeat;
  if (!scenario.may_fail() || recovery.detector != DetectorKind::timeout || timeout > silence) return "";
  return fmt::format(
      "recovery.timeout, {:.4g} s, is not longer than the silence of a node that is up: its heartbeat takes "
      "up to {:.4g} s to the scheduler, and the next heartbeat comes up to {:.4g} s later. Every false "
      "suspicion moves shards and causes more. Give a longer timeout, for example --set recovery.timeout={}s",
      timeout, way, heartbeat, std::ceil(20 * silence) / 10);
}

std::string waits_for_ever(const Scenario& scenario) {
  const auto crashes_worker = [&](const FaultSpec& fault) {
    return fault.kind->crashes &&
           std::ranges::any_of(fault_nodes(scenario.cluster, fault.nodes), [&](NodeId node) {
             return node_name(scenario.cluster, node).starts_with("worker");
           });
  };
  if (scenario.architecture.has_servers() || scenario.recovery.workers != LostWorkers::wait ||
      std::ranges::none_of(scenario.faults, crashes_worker))
    return "";
  const bool is_pipeline = scenario.architecture.kind == Architecture::model_parallel;
  return fmt::format(
      "without servers a worker that crashes loses its part of the training, and with recovery.workers = "
      "\"wait\"{} the others wait for it for ever; to go on, use --set recovery.workers=restart{}",
      is_pipeline ? " (the default of a pipeline)" : "", is_pipeline ? "" : ", or remove");
}

std::vector<Note> notes(const Scenario& scenario, const RunResult& result) {
  std::vector<Note> all;
  for (const Row& row : rows) {
    for (std::string& text : row.texts(scenario, result)) all.push_back({row.name, std::move(text)});
  }
  return all;
}

}  // namespace psim
