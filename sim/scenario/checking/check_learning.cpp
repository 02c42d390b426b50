// Checks of data, model, training and consistency.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "model/base/formula.hpp"
#include "model/data/files.hpp"
#include "sim/protocol/custom_model.hpp"
#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

// Checks of the order and direction of filters.

namespace {

void check_neighbours(const Check& check, std::size_t first, std::size_t second, std::string_view what) {
  const FilterSpec &a = check.s.filters[first], &b = check.s.filters[second];
  const std::string_view name_a = a.kind->name, name_b = b.kind->name;
  const std::vector<std::string> fields{
      fmt::format("filter.{}.kind", second), fmt::format("filter.{}.on", second),
      fmt::format("filter.{}.kind", first), fmt::format("filter.{}.on", first)};
  if (a.kind == b.kind) {
    check.add(fields, fmt::format("{} pass {} twice", what, name_b), "this is the second time", "remove one");
  } else if (a.stage() == FilterStage::quantize && b.stage() == FilterStage::quantize) {
    check.add(fields, fmt::format("{} are quantised twice", what), fmt::format("after {}", name_a),
              "remove one, or give it another `on`");
  } else if (b.stage() < a.stage()) {
    check.add(fields, fmt::format("filter {} cannot come after {}", name_b, name_a),
              fmt::format("{} pass {} first", what, name_a),
              "the order is: filters that select, one filter that quantises, key-caching, snappy");
  }
}

// The order in each direction: select, quantise, key-caching, snappy. Several filters may select; each other
// stage has at most one filter.
void check_order(const Check& check, bool push) {
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < check.s.filters.size(); ++i) {
    if (!check.s.filters[i].works_on(push) || !check.reading.given(fmt::format("filter.{}.kind", i)))
      continue;
    if (before) check_neighbours(check, *before, i, push ? "pushes" : "pulls");
    before = i;
  }
}

}  // namespace

void check_filters(const Check& check) {
  for (std::size_t i = 0; i < check.s.filters.size(); ++i) {
    const FilterSpec& filter = check.s.filters[i];
    const FilterRow& row = *filter.kind;
    const std::string path = fmt::format("filter.{}.", i);
    const std::string kind = path + "kind", on = path + "on";
    if (!check.reading.given(kind)) continue;
    if (row.push_only && filter.direction() != FilterOn::push) {
      check.add({on, kind}, fmt::format("filter {} cannot work on pulls", row.name),
                "it works only on gradients", "on = \"push\"");
    }
    for (const Setting* setting : row.settings) {
      const std::string field = path + std::string(setting->key);
      if (!setting->required || check.reading.given(field)) continue;
      check.add({kind, field}, fmt::format("filter {} needs `{}`", row.name, setting->key),
                fmt::format("`{}` is missing", setting->key),
                fmt::format("for example {} = {}", setting->key, setting->draws.front()));
    }
    if (filter.error_feedback == true && filter.direction() == FilterOn::pull) {
      check.add({path + "error_feedback", on, kind}, "pulls have no error feedback",
                "every pull sends the current weights", "on = \"push\", or remove `error_feedback`");
    }
    const auto differs = [&](const FilterSpec& other) {
      return other.works_on(true) && other.feeds_back() && other.memory != filter.memory;
    };
    if (filter.sends_differences() && std::ranges::any_of(check.s.filters, differs))
      check.add({path + "memory"}, "another filter of pushes remembers what it has removed",
                "the filters of a message have one memory",
                "the same `memory` for all filters with error feedback");
  }
  for (const bool push : {true, false}) check_order(check, push);
}

namespace {

constexpr auto most_values = static_cast<double>(most_data_values);  // of generated data, and of weights

// The number of generated values of the data; 0 if psim generates no data.
double numbers_of(const DataSpec& d) { return d.source->numbers != nullptr ? d.source->numbers(d) : 0; }

bool has_too_few_features(const DataSpec& d) {
  return lists(d.source->fields, "nonzeros") && d.features < d.nonzeros;
}

// Checks that the kind of model can learn from this kind of data.
bool fits_source(const Scenario& s) {
  return !s.model.kind->has_numbers || s.model.kind->is_sparse == s.data.source->is_sparse;
}

void check_fit(const Check& check) {
  if (fits_source(check.s)) return;
  const bool sparse = check.s.model.kind->is_sparse;
  const bool given = check.reading.given("model.kind");
  check.add({given ? "model.kind" : "data.source", "model.kind", "data.source"},
            fmt::format("{} cannot learn from {}", check.s.model.kind->name, check.s.data.source->name),
            sparse ? "needs sparse data" : "needs dense data",
            sparse ? "source = \"clicks\" or \"libsvm\" in [data]" : "kind = \"logistic\" in [model]");
}

void check_shape(const Check& check, const DataShape& train) {
  const MlpShape& mlp = check.s.model.mlp;
  const std::string_view source = check.s.data.source->name;
  if (mlp.layers.size() >= 2 && mlp.layers.front() != train.features) {
    check.add({"model.layers"}, fmt::format("the first layer has {}", counted(mlp.layers.front(), "input")),
              fmt::format("{} has {}", source, counted(train.features, "feature")),
              fmt::format("begin layers with {}", train.features));
  }
  if (mlp.layers.size() >= 2 && mlp.layers.back() != train.outputs) {
    check.add(
        {"model.layers"}, fmt::format("the last layer has {}", counted(mlp.layers.back(), "output")),
        fmt::format("{} has {} {}", source, train.outputs, train.classification ? "classes" : "targets"),
        fmt::format("end layers with {}", train.outputs));
  }
}

void check_learns(const Check& check, const DataShape& train) {
  const ModelRow& kind = *check.s.model.kind;
  if (kind.can_learn(train.classification ? train.outputs : 0)) return;
  const bool needs_targets = kind.learns == Learns::targets;
  const std::string_view needed = needs_targets                        ? "targets"
                                  : kind.learns == Learns::two_classes ? "two classes"
                                                                       : "classes";
  const std::string there = train.classification ? counted(train.outputs, "class") : std::string("targets");
  const bool given = check.reading.given("model.kind");
  const bool has_field = lists(check.s.data.source->fields, "classes");
  const bool wants_field = kind.learns == Learns::two_classes && train.classification && has_field;
  check.add({given ? "model.kind" : "data.source", "model.kind", "data.source", "data.classes"},
            fmt::format("{} learns {}", kind.name, needed),
            fmt::format("{} has {}", check.s.data.source->name, there),
            wants_field ? "classes = 2 in [data]"
                        : fmt::format("choose data with {}, or another kind of model", needed));
}

void check_regression(const Check& check, const DataShape& train) {
  if (!train.classification) {
    const std::string_view source = check.s.data.source->name;
    const std::string regression = fmt::format("{} is a regression", source);
    if (check.s.model.kind->has_layers && check.s.model.mlp.loss == Loss::cross_entropy)
      check.add({"model.loss"}, "cross-entropy needs classes", regression, "use loss = \"half-sse\"");
    if (check.s.training.target.accuracy)
      check.add({"training.target.accuracy"}, "a regression has no accuracy", regression,
                "give a target loss");
    if (check.s.data.partition == Partition::by_label || check.s.data.partition == Partition::dirichlet) {
      check.add({"data.partition"},
                fmt::format("partition {} needs classes", name_of(check.s.data.partition)), regression,
                "partition = \"iid\"");
    }
  }
}

}  // namespace

bool knows_model(const Check& check) {
  const ModelSpec& model = check.s.model;
  if (!model.kind->has_numbers) return true;
  return model.kind->has_layers ? fits_source(check.s) && model.mlp.layers.size() >= 2 : model.features > 0;
}

bool can_load(const Check& check) {
  return check.s.model.kind->has_numbers && check.reading.reliable("model.kind") && check.reading.complete &&
         check.reading.reliable("data") && numbers_of(check.s.data) <= most_values &&
         !has_too_few_features(check.s.data) && fits_source(check.s) &&
         !(check.s.data.source->reads_files && check.s.data.path.empty());
}

void check_source(const Check& check) {
  const DataSpec& d = check.s.data;
  if (d.source->reads_files && d.path.empty()) {
    check.add({"data.source", "data.path"}, fmt::format("{} needs `path`", d.source->name),
              "which file or folder?", "for example path = \"samples.csv\"");
  }
  if (has_too_few_features(d)) {
    return check.add(
        {"data.features", "data.nonzeros", "data.source"},
        fmt::format("{} for samples with {} nonzeros", counted(d.features, "feature"), d.nonzeros),
        "must be at least `nonzeros`", "for example features = 100_000");
  }
  if (numbers_of(d) <= most_values) return;
  const std::string help = fmt::format("at most {:.0f} numbers in all", most_values);
  if (lists(d.source->fields, "nonzeros"))
    return check.add({"data.samples", "data.nonzeros", "data.source"},
                     fmt::format("too many numbers: {} of {}", counted(d.samples, "sample"),
                                 counted(d.nonzeros, "feature")),
                     "too large for memory", help);
  check.add({"data.samples", "data.features", "data.classes"},
            fmt::format("too many numbers: {} of {} and {}", counted(d.samples, "sample"),
                        counted(lists(d.source->fields, "features") ? d.features : 2, "feature"),
                        counted(d.classes, "class")),
            "too large for memory", help);
}

// The work of a phantom model: one number for each array, and at least one above 0.
void check_work(const Check& check) {
  const ModelSpec& m = check.s.model;
  if (m.phantom_work.empty()) return;
  const std::size_t arrays = std::max<std::size_t>(1, m.phantom_arrays.size());
  if (m.phantom_work.size() != arrays)
    check.add({"model.work", "model.arrays"},
              fmt::format("`model.work` has {} part{}", m.phantom_work.size(),
                          m.phantom_work.size() == 1 ? "" : "s"),
              there_are(static_cast<std::int64_t>(arrays), "array"), "give one number for each array");
  if (std::ranges::max(m.phantom_work) == 0)
    check.add({"model.work"}, "no array has any work", "at least one number must be above 0");
}

void check_model(const Check& check) {
  const ModelSpec& m = check.s.model;
  check_fit(check);
  check_work(check);
  if (!m.kind->has_layers || !fits_source(check.s)) return;
  const std::string layers = "model.layers", weights = "model.weights", biases = "model.biases";
  if (m.mlp.layers.size() < 2) {
    return check.add({layers, "model.kind"}, "a model needs at least two layers", "inputs and outputs",
                     "for example layers = [64, 32, 10]");
  }
  const std::size_t depth = m.mlp.layers.size() - 1;
  if (!m.weights.empty() && m.weights.size() != depth) {
    check.add({weights, layers},
              fmt::format("`model.weights` has {}", counted(std::ssize(m.weights), "layer")),
              fmt::format("must have {}: `layers` also counts the inputs", depth));
  }
  for (std::size_t l = 0; l < std::min(depth, m.weights.size()); ++l) {
    const auto rows = static_cast<std::size_t>(m.mlp.layers[l + 1]),
               cols = static_cast<std::size_t>(m.mlp.layers[l]);
    const bool fits = m.weights[l].size() == rows &&
                      std::ranges::all_of(m.weights[l], [&](const auto& row) { return row.size() == cols; });
    if (!fits)
      check.add({weights, layers}, fmt::format("the weights of layer {} have the wrong shape", l + 1),
                fmt::format("must be {} of {}", counted(rows, "row"), counted(cols, "number")));
  }
  if (m.biases.empty()) return;
  if (!m.mlp.bias)
    return check.add({biases, "model.bias"}, "`model.biases` needs a model with biases", "bias is false",
                     "remove one of them");
  bool fits = m.biases.size() == depth;
  for (std::size_t l = 0; fits && l < depth; ++l)
    fits = m.biases[l].size() == static_cast<std::size_t>(m.mlp.layers[l + 1]);
  if (!fits)
    check.add({biases, layers}, "the biases have the wrong shape",
              "must be one row per layer with one number per output");
}

void check_parameters(const Check& check) {
  if (!knows_model(check)) return;
  const ModelRow& kind = *check.s.model.kind;
  const std::int64_t parameters = parameter_count(check.s.model);
  const std::string field(kind.size_field.empty() ? "data" : kind.size_field);
  if (kind.has_numbers && static_cast<double>(parameters) > most_values) {
    check.add({field, "model.kind"}, fmt::format("the model has {} parameters", parameters),
              fmt::format("at most {:.0f} fit in memory", most_values),
              "kind = \"phantom\" simulates the time of larger models");
  }
  if (check.s.cluster.servers > parameters) {
    check.add({"cluster.servers", field, "model.kind", "model.bias"},
              fmt::format("`cluster.servers` is {}", check.s.cluster.servers),
              fmt::format("the model has only {}", counted(parameters, "parameter")));
  }
  if (kind.is_sparse && check.s.training.feature_blocks > parameters) {
    check.add({"training.feature_blocks", "training.optimizer", field, "model.kind", "model.bias"},
              fmt::format("`training.feature_blocks` is {}", check.s.training.feature_blocks),
              fmt::format("the model has only {}", counted(parameters, "parameter")));
  }
}

namespace {

void check_fragments(const Check& check) {
  const auto& [inner, outer] = std::tie(check.s.training.inner, check.s.training.outer);
  const std::string fragments = "training.outer.fragments", steps = "training.inner.steps";
  if (outer.fragments == 1) return;
  const std::int64_t parameters = parameter_count(check.s.model);
  if (inner.steps % outer.fragments != 0)
    check.add({fragments, steps}, "the fragments do not share out the steps of the inner loop",
              fmt::format("{} steps over {} fragments", inner.steps, outer.fragments),
              fmt::format("for example steps = {} in [training.inner]",
                          (inner.steps / outer.fragments + 1) * outer.fragments));
  else if (outer.delay >= inner.steps / outer.fragments)
    check.add({"training.outer.delay", fragments, steps},
              "a fragment would still be on its way when the next is pushed",
              fmt::format("a clock has {}", counted(inner.steps / outer.fragments, "local step")),
              fmt::format("at most delay = {}", inner.steps / outer.fragments - 1));
  const ModelRow& model = *check.s.model.kind;
  if (parameters < outer.fragments && model.has_numbers && !model.is_sparse)
    check.add({fragments, "model"}, fmt::format("the model has only {}", counted(parameters, "parameter")),
              fmt::format("{} fragments", outer.fragments), "give fewer fragments");
  if (outer.optimizer.kind->counts_steps)
    check.add(
        {"training.outer.optimizer", fragments},
        fmt::format("{} counts its steps, and fragments have steps of their own", outer.optimizer.kind->name),
        "with several fragments", "optimizer = \"nesterov\" (streaming DiLoCo), or fragments = 1");
}

}  // namespace

namespace {

// Servers that run an optimizer of whole arrays.
void check_whole_arrays(const Check& check) {
  const OptimizerSpec& common = check.s.training.common_optimizer();
  if (!common.kind->whole_arrays || !check.s.architecture.has_servers() || !check.diagnostics.empty()) return;
  const KeySpace keys = key_space_of(check.s);
  const auto is_whole = [&](const Shard& shard) {
    return arrays_in(check.s.model, shard.ranges).has_value();
  };
  if (std::ranges::all_of(keys.shards, is_whole)) return;
  check.add({"training.optimizer", "training.outer.optimizer", "placement.kind", "messages.slice"},
            fmt::format("{} needs whole arrays, and servers have parts of them", common.kind->name),
            "a rule for a whole matrix", "kind = \"greedy\" in [placement], and no `slice` in [messages]");
}

// A worker that begins again must succeed at last.
void check_give_up(const Check& check) {
  const std::optional<Seconds>& limit = check.s.training.give_up;
  if (!limit) return;
  for (std::size_t w = 0; w < static_cast<std::size_t>(check.s.cluster.workers); ++w) {
    const double mean = mean_step_seconds(check.s, w);
    if (check.s.compute.distribution == "constant" && mean > limit->value)
      return check.add({"training.give_up", "compute.time", "compute.distribution"},
                       fmt::format("worker {} gives every computation up: each takes {:.3g} s", w, mean),
                       "too short", "a larger give_up, or a `distribution` in [compute]");
  }
}

}  // namespace

void check_training(const Check& check) {
  check_fragments(check);
  check_give_up(check);
  check_whole_arrays(check);
  const TrainingSpec& t = check.s.training;
  const std::string steps = "training.steps", epochs = "training.epochs", samples = "training.samples",
                    duration = "training.duration", target = "training.target";
  const bool ends = t.steps || t.epochs || t.samples || t.duration;
  if (!ends && !t.target.given()) {
    check.add({"training", steps, epochs, samples, duration, target}, "the run has no end",
              "one of steps, epochs, samples, duration or a target is needed",
              "for example epochs = 5 in [training]");
  }
  if (!ends && t.target.given() && !t.target.stop) {
    check.add({target, steps, epochs, samples, duration}, "the run has no end", "the target does not stop it",
              "give steps, epochs, samples or duration as well");
  }
  if (t.schedule == RateSchedule::cosine && !t.steps && !t.epochs && !t.samples) {
    check.add({"training.schedule", steps, epochs, samples}, "a cosine schedule needs to know its end",
              "none of steps, epochs and samples is given", "give one of them");
  }
}

namespace {

// Checks that each bounded layer exists, has separate shards, and has only one bound.
void check_arrays(const Check& check) {
  const std::vector<ArrayBound>& bounds = check.s.consistency.arrays;
  if (bounds.empty() || !knows_model(check)) return;
  const std::string first = "consistency.array.0.layer";
  if (check.s.messages.unit != MessageUnit::array)
    check.add({first, "messages.unit"}, "a layer cannot have a separate bound",
              "all arrays of a server travel in one message", "unit = \"array\" in [messages]");
  const auto layers = static_cast<std::int64_t>(parameter_arrays(check.s.model).back().layer) + 1;
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const std::string field = fmt::format("consistency.array.{}.layer", i);
    if (!seen.insert(bounds[i].layer).second)
      check.add({field}, fmt::format("layer {} has two bounds", bounds[i].layer), "give it only one");
    if (bounds[i].layer >= layers)
      check.add({field, "model.layers", "model.arrays", "model.kind"},
                fmt::format("there is no layer {}", bounds[i].layer), there_are(layers, "layer"));
  }
}

void add_mistake(const Check& check, const std::string& field, const std::string& text,
                 const FormulaMistake& mistake) {
  check.add_inside("expression", "consistency." + field, {text, mistake.at, mistake.length}, mistake.message,
                   "in this expression", mistake.help);
}

void check_custom(const Check& check) {
  const ConsistencySpec& c = check.s.consistency;
  for (const CustomMistake& mistake : CustomModel::mistakes(c.custom, c.numbers(check.s.cluster.workers))) {
    const std::string& text = mistake.field == "start"    ? c.custom.start
                              : mistake.field == "update" ? c.custom.update
                              : mistake.field == "weight" ? c.custom.weight
                                                          : c.custom.too_late;
    add_mistake(check, mistake.field, text, mistake.what);
  }
}

void check_promises(const Check& check) {
  const ConsistencySpec& c = check.s.consistency;
  for (std::size_t i = 0; i < c.promises.size(); ++i) {
    try {
      Promise(c.promises[i], Promise::Numbers{});
    } catch (const FormulaMistake& mistake) {
      add_mistake(check, fmt::format("promises.{}", i), c.promises[i], mistake);
    }
  }
}

}  // namespace

void check_consistency(const Check& check) {
  const ConsistencySpec& c = check.s.consistency;
  const ConsistencyRow& row = *c.model;
  if (c.late == Late::next && row.has_age() && (c.max_staleness || row.is_custom()))
    check.add(
        {"consistency.late", "consistency.max_staleness", "consistency.model"},
        fmt::format("{} cannot use late = \"next\"", row.name),
        fmt::format("`{}` decides which late pushes count", row.is_custom() ? "too_late" : "max_staleness"),
        row.is_custom() ? "too_late = \"false\" lets every push count"
                        : "without max_staleness every push counts");
  const std::int64_t n = check.s.cluster.workers;
  const std::string model = "consistency.model", k = "consistency.k", backup = "consistency.backup",
                    workers = "cluster.workers";
  if (row.group == Group::k) {
    if (!c.k && !c.backup) {
      check.add({model, k, backup}, fmt::format("{} needs `k`", row.name), "how many pushes make an update?",
                row.has_backup() ? "give k, or backup (then k is the number of workers minus backup)"
                                 : fmt::format("for example k = {}", std::min<std::int64_t>(n, 4)));
    }
    if (c.k && c.backup)
      check.add({backup, k, model}, "`k` and `backup` are two forms of the same number", "give one of them");
    if (c.backup && *c.backup >= n) {
      check.add({backup, model, workers}, fmt::format("`consistency.backup` is {}", *c.backup),
                fmt::format("must leave at least 1 worker of {}", n));
    }
  }
  if (row.has_k() && c.k && *c.k > n)
    check.add({k, model, workers}, fmt::format("`consistency.k` is {}", *c.k), there_are(n, "worker"));
  if (row.dynamic && c.staleness_max < c.staleness) {
    const std::string given = check.reading.given("consistency.staleness_max") ? "consistency.staleness_max"
                                                                               : "consistency.staleness";
    check.add({given, "consistency.staleness", "consistency.staleness_max", model},
              fmt::format("`staleness_max` {} is below `staleness` {}", c.staleness_max, c.staleness),
              "the largest bound cannot be below the smallest");
  }
  if (row.is_custom()) check_custom(check);
  check_promises(check);
  check_arrays(check);
  double last = -1;
  for (std::size_t i = 0; i < c.staleness_schedule.size(); ++i) {
    const auto& step = c.staleness_schedule[i];
    const auto count = [](double value) { return value >= 0 && value <= 1e9 && value == std::floor(value); };
    if (step.size() != 2 || !count(step[0]) || !count(step[1]) || step[0] <= last) {
      return check.add(
          {"consistency.staleness_schedule", model}, fmt::format("row {} of the schedule is wrong", i + 1),
          "must be [clock, staleness], integers, and clocks must rise", "for example [[0, 0], [100, 3]]");
    }
    last = step[0];
  }
}

void check_data(const Check& check, const DataShape& train) {
  check_learns(check, train);
  check_regression(check, train);
  if (check.s.model.kind->has_layers) {
    check_shape(check, train);
  } else {  // the size of these data was unknown before
    check_parameters(check);
    check_memory(check);
    check_pace(check);
  }
  const std::int64_t machines = machines_with_data(check.s), shard = train.samples / machines;
  if (machines > train.samples) {
    check.add({"cluster.workers"}, fmt::format("`cluster.workers` is {}", machines),
              there_are(train.samples, "training sample"));
  } else if (check.s.training.batch_size > shard) {
    check.add(
        {"training.batch_size", "cluster.workers"},
        fmt::format("`training.batch_size` is {}", check.s.training.batch_size),
        fmt::format("larger than a worker's shard of {}", counted(shard, "sample")),
        fmt::format("{} over {}", counted(train.samples, "training sample"), counted(machines, "worker")));
  }
}

}  // namespace psim
