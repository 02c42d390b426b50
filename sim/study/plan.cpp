#include "sim/study/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "model/dataset.hpp"
#include "sim/record/summary.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/record_run.hpp"
#include "sim/scenario/assignment.hpp"
#include "sim/scenario/estimate.hpp"
#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::study {
namespace {

// A field that the command line sets cannot be an axis. This also holds for a field in a table that the axis
// sets, because the axis would undo the override. Returns the override that fixes the axis; null: none.
const Override* fixed_by(const Axis& axis, const std::vector<Override>& overrides) {
  const auto fixes = [&](const Override& override) {
    const auto is_set = [&](const std::string& field) { return overlap(field, override.key); };
    return (axis.key + ".").starts_with(override.key + ".") || std::ranges::any_of(axis.fields, is_set);
  };
  const auto found = std::ranges::find_if(overrides, fixes);
  return found == overrides.end() ? nullptr : &*found;
}

// Whether "--set KEY=VALUE" gives an axis: VALUE is a list, and KEY takes a single value.
bool is_axis(const Override& set) {
  const std::string key = set.key + ".";
  if (key.starts_with("compare.") || key.starts_with("tune.")) return false;
  std::size_t depth = 0;
  for (const char c : set.value) {
    if (c == '[') ++depth;
    else if (c != ' ') break;
  }
  return depth > list_depth(set.key);
}

// A request whose axes have moved into its scenario.
struct Parts {
  RunRequest request;
  LoadRequest load;
};

Parts parts_of(const Request& asked, Diagnostics& diagnostics) {
  Parts parts{.request = asked, .load = {}};
  std::vector<Override> axes;
  std::erase_if(parts.request.sets, [&](const std::string& set) {
    const std::optional<Override> one = override_of(set);
    if (one && is_axis(*one)) axes.push_back(*one);
    return one && is_axis(*one);
  });
  if (!asked.seeds.empty()) axes.push_back({"seeds", "[" + asked.seeds + "]"});
  parts.load = load_request(parts.request, diagnostics);
  parts.load.axes = std::move(axes);
  return parts;
}

// An unchecked run.
struct Candidate {
  PlannedRun run;
  std::vector<AxisChoice> choices;
  std::vector<Override> last;        // overrides of its variant
  std::optional<std::int64_t> seed;  // from the axis
  std::string cell;                  // the name without this seed
  std::string name;                  // "consistency = ssp 3, seed = 2"
};

// Every candidate with every value of the axis. The new axis varies faster than the old ones.
std::vector<Candidate> crossed(const std::vector<Candidate>& candidates, const Axis& axis,
                               const std::string& arm_axis) {
  std::vector<Candidate> more;
  for (const Candidate& one : candidates) {
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      Candidate next = one;
      const AxisValue& value = axis.values[i];
      if (axis.key == "seed") {
        next.seed = number_in<std::int64_t>(value.label);
        next.cell = one.name;
      } else if (axis.key == arm_axis) {
        next.run.arm = value.label;
      } else {
        next.run.condition.push_back(value.label);
      }
      next.run.request.sets.insert(next.run.request.sets.end(), value.sets.begin(), value.sets.end());
      next.choices.push_back({axis.key, i});
      next.name += fmt::format("{}{} = {}", next.name.empty() ? "" : ", ", axis.key, value.label);
      more.push_back(std::move(next));
    }
  }
  return more;
}

std::vector<Candidate> varied(const std::vector<Candidate>& candidates, const Variants& variants) {
  std::vector<Candidate> more;
  for (const Candidate& one : candidates) {
    for (const Variant& variant : variants.of(one.run.arm, one.run.condition)) {
      Candidate next = one;
      next.run.condition.push_back(variant.label);
      for (const std::string& set : variant.sets) {
        next.run.request.sets.push_back(set);
        next.last.push_back(*override_of(set));
      }
      next.name += fmt::format("{}{} = {}", next.name.empty() ? "" : ", ", variants.axis, variant.label);
      more.push_back(std::move(next));
    }
  }
  return more;
}

// The runs of the cross product, the first axis slowest and the seeds fastest.
std::vector<Candidate> cross_product(const RunRequest& request, const std::vector<Axis>& axes,
                                     const std::string& arm_axis, const Variants& variants) {
  std::vector<Candidate> candidates{
      {.run = {.arm = {}, .request = request}, .choices = {}, .last = {}, .name = {}}};
  const auto is_seed = [](const Axis& axis) { return axis.key == "seed"; };
  for (const Axis& axis : axes) {
    if (!is_seed(axis)) candidates = crossed(candidates, axis, arm_axis);
  }
  if (!variants.axis.empty()) candidates = varied(candidates, variants);
  const auto seeds = std::ranges::find_if(axes, is_seed);
  return seeds == axes.end() ? candidates : crossed(candidates, *seeds, arm_axis);
}

// Whether every seed takes the same step times from a file.
bool repeats_trace(const Scenario& scenario) {
  return std::ranges::any_of(scenario.compute.factors(), &FactorSpec::is_trace_as_it_is);
}

double bytes_of(const DataSplit& data) {
  double bytes = 0;
  for (const Dataset* set : {&data.train, &data.test, &data.validation})
    bytes += 4.0 * static_cast<double>(set->inputs.size() + set->targets.size()) +
             8.0 * static_cast<double>(set->labels.size() + set->sparse_inputs.index.size());
  return bytes;
}

// Decides which data the planner keeps for its runs. Each run is a forked copy of the planner, and copying
// many megabytes takes longer than loading a small data set again.
class DataBudget {
 public:
  bool takes(const LoadedScenario& loaded) {
    std::set<const DataSplit*> more{loaded.data.get()};
    for (const LoadedJob& job : loaded.jobs) more.insert(job.data.get());
    more.erase(nullptr);
    std::erase_if(more, [this](const DataSplit* data) { return kept_.contains(data); });
    double bytes = 0;
    for (const DataSplit* data : more) bytes += bytes_of(*data);
    if (bytes > 0 && bytes_ + bytes > (bytes > large ? most : most_of_small)) return false;
    kept_.insert(more.begin(), more.end());
    bytes_ += bytes;
    return true;
  }

 private:
  static constexpr double large = 8e6, most_of_small = 32e6, most = 512e6;  // bytes
  std::set<const DataSplit*> kept_;
  double bytes_ = 0;
};

// A message takes about 5 us, and a gradient a second for 1e10 floating-point operations (tests/bench). A run
// of unknown length counts as a minute.
double seconds_of(const Estimate& work) {
  const double seconds = 0.005 + 5e-6 * work.messages + work.flops / 1e10;
  return std::isfinite(seconds) ? seconds : 60;
}

// Whether all else that loading gives, and all checks of it, are the same for every seed. Groups may have
// seeds of their own, the density of sparse data depends on their split, and the largest server on the
// placement of shards. A long trace would be there for each run.
bool depends_on_seed_by_data_alone(const LoadedScenario& loaded) {
  const Scenario& s = loaded.scenario;
  return loaded.jobs.empty() && !s.cluster.server.memory &&
         std::ranges::all_of(s.compute.factors(),
                             [](const FactorSpec* factor) { return factor->steps == nullptr; }) &&
         (!loaded.data || !loaded.data->train.is_sparse());
}

// Checks every run. Throws each diagnostic once, at the line of the axis's value. `runs`: also checks that
// each run fits into memory.
class Resolver {
 public:
  Resolver(LoadRequest request, bool runs) : request_(std::move(request)), runs_(runs) {
    request_.cache = &cache_;
  }

  void resolve(Candidate& one) {
    Diagnostics diagnostics;
    std::optional<LoadedScenario> loaded = load(one, diagnostics);
    if (!loaded || !diagnostics.empty()) {
      if (!one.name.empty()) diagnostics.annotate(fmt::format("in the run with {}", one.name));
      if (found_) merge(diagnostics, *found_);
      else found_ = std::move(diagnostics);
      return;
    }
    if (std::exchange(is_first_, false)) notes = diagnostics.render_notes();
    if (runs_)
      if (std::string why_not = no_room(*loaded, one.run.request); !why_not.empty())
        too_large_.insert(std::move(why_not));
    one.run.seed = loaded->scenario.seed;
    one.run.hash = scenario_hash(*loaded);
    one.run.by_trace = repeats_trace(loaded->scenario);
    one.run.predicts =
        share_of_fit(loaded->scenario, static_cast<double>(loaded->scenario.training.steps.value_or(1)));
    title = loaded->scenario.title;
    const Estimate work = estimate(*loaded, 1);
    one.run.seconds = seconds_of(work);
    one.run.bytes = work.bytes();
    one.run.lacks_data = !data_.takes(*loaded);
    if (one.run.lacks_data) {
      cache_.clear();
      if (!depends_on_seed_by_data_alone(*loaded)) return;
      loaded->data.reset();
    }
    one.run.loaded = std::move(loaded);
  }

  std::string title;  // of the last scenario
  std::string notes;  // of the first one

  void throw_what_is_wrong() const {
    std::string wrong = found_ ? found_->render() : "";
    for (const std::string& why_not : too_large_) wrong += why_not;
    if (!wrong.empty()) throw Invalid{std::move(wrong)};
  }

 private:
  // The scenario before with another seed, without reading and checking it again. Nothing if more than the
  // seed differs, or the data cannot be loaded.
  std::optional<LoadedScenario> before_with_seed_of(const Candidate& one) try {
    if (!before_ || !one.seed || one.cell != cell_) return std::nullopt;
    LoadedScenario next = *before_;
    next.scenario.seed = *one.seed;
    load_data_again(next, request_);
    return next;
  } catch (const DataError&) {
    return std::nullopt;
  }

  std::optional<LoadedScenario> load(const Candidate& one, Diagnostics& diagnostics) {
    if (auto next = before_with_seed_of(one)) return next;
    request_.point = one.choices;
    request_.last = one.last;
    std::optional<LoadedScenario> loaded = load_scenario(request_, diagnostics);
    before_.reset();
    if (loaded && diagnostics.empty() && loaded->scenario.seed == one.seed &&
        depends_on_seed_by_data_alone(*loaded)) {
      before_ = loaded;
      before_->data.reset();
      cell_ = one.cell;
    }
    return loaded;
  }

  LoadRequest request_;
  bool runs_, is_first_ = true;
  std::optional<LoadedScenario> before_;  // of cell_, without data
  std::string cell_;
  std::optional<Diagnostics> found_;
  std::set<std::string> too_large_;
  DataCache cache_;
  DataBudget data_;
};

std::string hash_of(const Plan& plan) {
  std::string text = plan.arm_axis;
  for (const PlannedRun& run : plan.runs)
    text += fmt::format("\n{}\t{}\t{}\t{}", run.arm, fmt::join(run.condition, "\t"), run.seed, run.hash);
  if (plan.tune) text += "\n" + text_of(*plan.tune);
  return hash_of_text(text);
}

// The axes that the command line does not fix.
std::vector<Axis> free_axes(const Parts& parts, std::string& notes) {
  Diagnostics diagnostics;
  std::optional<std::vector<Axis>> axes = load_axes(parts.load, diagnostics);
  if (!axes || !diagnostics.empty()) throw Invalid{diagnostics.render()};
  std::erase_if(*axes, [&](const Axis& axis) {
    const Override* fixed = fixed_by(axis, parts.load.overrides);
    if (fixed == nullptr) return false;
    const bool by_seed = fixed->key == "seed" && parts.request.seed;
    if (axis.in_file && axis.key != fixed->key && !axis.key.starts_with(fixed->key + "."))
      notes += fmt::format("note: --set {} fixes the field of the axis `{}`, so this axis is left out\n",
                           fixed->key, axis.key);
    if (!axis.in_file)
      diagnostics.add(
          given_twice(axis.key, axis.place,
                      by_seed ? Source{"--seed", ""} : Source{"--set", fixed->key + "=" + fixed->value}));
    return true;
  });
  for (const Axis& axis : *axes) {
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      const auto same = [&](const AxisValue& other) { return other.label == axis.values[i].label; };
      if (std::ranges::find_if(axis.values, same) == axis.values.begin() + static_cast<std::ptrdiff_t>(i))
        continue;
      diagnostics.add({"axis", axis.place, fmt::format("`{}` has {} twice", axis.key, axis.values[i].label),
                       "every value makes its own row or seed", "remove one of them"});
      break;
    }
  }
  if (!diagnostics.empty()) throw Invalid{diagnostics.render()};
  return std::move(*axes);
}

}  // namespace

std::optional<double> share_of_fit(const Scenario& scenario, double clocks) {
  for (const FactorSpec* factor : scenario.compute.factors()) {
    if (factor->steps == nullptr || !factor->resampling.drawn_sample) continue;
    const auto sample = static_cast<double>(factor->steps->rows());
    return clocks / (clocks + sample);
  }
  return std::nullopt;
}

std::string hash_of_text(const std::string& text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

Plan plan_study(const Request& request, bool runs, const Variants& variants) {
  Diagnostics diagnostics;
  const Parts parts = parts_of(request, diagnostics);
  Plan plan{.name = scenario_name(request.scenario)};
  const std::vector<Axis> axes = free_axes(parts, plan.notes);
  const auto is_arms = [](const Axis& axis) { return axis.key == "arm"; };
  const auto is_no_seed = [](const Axis& axis) { return axis.key != "seed"; };
  auto arms = std::ranges::find_if(axes, is_arms);
  if (arms == axes.end()) arms = std::ranges::find_if(axes, is_no_seed);
  if (arms != axes.end()) {
    plan.arm_axis = arms->key;
    for (const AxisValue& value : arms->values) plan.arms.push_back(value.label);
  } else {
    plan.arms = {""};
  }
  for (const Axis& axis : axes) {
    if (axis.key != plan.arm_axis && axis.key != "seed") plan.condition_axes.push_back(axis.key);
  }
  if (!variants.axis.empty()) plan.condition_axes.push_back(variants.axis);
  std::vector<Candidate> candidates = cross_product(parts.request, axes, plan.arm_axis, variants);
  Resolver resolver(parts.load, runs);
  for (Candidate& one : candidates) resolver.resolve(one);
  resolver.throw_what_is_wrong();
  for (Candidate& one : candidates) plan.runs.push_back(std::move(one.run));
  plan.title = resolver.title;
  plan.notes += resolver.notes;
  std::vector<std::string> keys;
  for (const Axis& axis : axes) keys.push_back(axis.key);
  plan.text = study_text(parts.load, keys);
  plan.tune = load_tune(parts.load, diagnostics);
  if (!diagnostics.empty()) throw Invalid{diagnostics.render()};
  plan.hash = hash_of(plan);
  return plan;
}

std::string compare_line(const Request& request, const std::string& program) {
  const std::string line = command_line(request, program);
  if (request.seeds.empty()) return line;
  const bool is_one =
      request.seeds.find(',') == std::string::npos;  // a lone number would be a number of seeds
  return line + " " + option_words("--seeds", is_one ? request.seeds + "-" + request.seeds : request.seeds);
}

namespace {

std::optional<std::size_t> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : number_in<std::size_t>(value);
}

// The place of this task in its array, from 1.
std::optional<std::size_t> array_place() {
  if (const auto task = variable("SLURM_ARRAY_TASK_ID")) {
    const std::size_t first = variable("SLURM_ARRAY_TASK_MIN").value_or(1);
    const std::size_t step = std::max<std::size_t>(1, variable("SLURM_ARRAY_TASK_STEP").value_or(1));
    return *task < first ? std::nullopt : std::optional((*task - first) / step + 1);
  }
  return variable("PARALLEL_SEQ");
}

constexpr const char* example = "for example 3/8, the third of eight";

// Slurm tells each task of an array its place.
std::optional<Slice> slice_of_array() {
  const auto count = variable("SLURM_ARRAY_TASK_COUNT");
  if (!count || !variable("SLURM_ARRAY_TASK_ID")) return std::nullopt;
  const auto number = array_place();
  if (!number || *number > *count)
    throw Refused(
        fmt::format("Slurm's array has {}, and this task is not among them",
                    counted(static_cast<std::int64_t>(*count), "task")),
        fmt::format("see SLURM_ARRAY_TASK_ID, _MIN, _STEP and _COUNT; --slice overrides them, {}", example));
  return Slice{.number = *number, .count = *count};
}

}  // namespace

std::optional<Slice> slice_of(const std::string& text) {
  if (text.empty()) return slice_of_array();
  const std::size_t bar = std::min(text.find('/'), text.size());
  const auto count = number_in<std::size_t>(std::string_view(text).substr(std::min(bar + 1, text.size())));
  const bool is_told = bar == 0 && count;
  const auto number = is_told ? array_place() : number_in<std::size_t>(std::string_view(text).substr(0, bar));
  if (is_told && !number)
    throw Refused(fmt::format("--slice {}: the number of the slice is missing", text),
                  "SLURM_ARRAY_TASK_ID or PARALLEL_SEQ gives it; without these write 1" + text);
  if (is_told && *number > *count)
    throw Refused(fmt::format("--slice {}: this is task {}", text, *number),
                  "a study needs one task per slice, counted from the array's first task");
  if (!count || !number || *number < 1 || *number > *count)
    throw Refused(fmt::format("--slice {}: this is not a slice", text), example);
  return Slice{.number = *number, .count = *count};
}

std::vector<std::size_t> runs_of(const Slice& slice, const std::vector<PlannedRun>& runs) {
  std::vector<std::size_t> order;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (seen.insert(runs[i].hash).second) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t run) { return runs[run].seconds; });
  std::vector<double> load(std::min(slice.count, order.size()), 0);
  std::vector<std::size_t> mine;
  for (const std::size_t run : order) {
    const auto least = std::ranges::min_element(load);
    *least += runs[run].seconds;
    if (least - load.begin() + 1 == static_cast<std::ptrdiff_t>(slice.number)) mine.push_back(run);
  }
  std::ranges::sort(mine);
  return mine;
}

}  // namespace psim::study
