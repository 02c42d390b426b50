#include "sim/scenario/checking/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/devices.hpp"

namespace psim {
namespace {

// A target may never be reached; then the run ends after so many passes over the data.
constexpr double epochs_without_end = 1000;
constexpr double most_values = 250e6;  // of generated data, and of weights: 1 GB in single precision

bool needs_path(DataSource source) {
  return source == DataSource::csv || source == DataSource::libsvm || source == DataSource::idx;
}

}  // namespace

std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string there_are(std::int64_t count, std::string_view what) {
  return fmt::format("there {} only {}", count == 1 ? "is" : "are", counted(count, what));
}

bool Checker::knows_model() const {
  switch (s_.model.kind) {
    case ModelKind::mlp: return fits_source() && s_.model.mlp.layers.size() >= 2;
    case ModelKind::logistic: return s_.model.features > 0;
    case ModelKind::phantom: return true;
  }
  return false;
}

double mean_step_seconds(const Scenario& s, std::size_t worker) {
  const auto batches = static_cast<double>(s.training.batches_per_clock());
  const double devices = devices_time_ratio(s, worker);
  if (s.compute.time) return devices * batches * s.compute.time->value;
  return devices * batches * flops_per_sample(s.model) * static_cast<double>(s.training.batch_size) /
         s.cluster.worker.speed.of(worker).value;
}

std::optional<std::int64_t> steps_of(const Scenario& scenario, std::int64_t training_samples) {
  const TrainingSpec& training = scenario.training;
  std::optional<double> epochs = training.epochs;
  if (!epochs && !training.steps && !training.duration) epochs = epochs_without_end;
  std::optional<std::int64_t> steps = training.steps;
  if (epochs) {
    const std::int64_t samples = training.batch_size * scenario.cluster.workers;  // of a batch of each worker
    const auto per_clock = static_cast<double>(samples * training.batches_per_clock()),
               more_at_first = static_cast<double>(samples * training.batches_more_at_first());
    const double wanted = *epochs * static_cast<double>(training_samples) - more_at_first;
    const auto by_epochs = static_cast<std::int64_t>(std::max(1.0, std::ceil(wanted / per_clock)));
    steps = std::min(steps.value_or(by_epochs), by_epochs);
  }
  return steps;
}

Place Checker::place(std::string path) const {
  for (;;) {
    if (const auto it = reading_.places.find(path); it != reading_.places.end()) return it->second;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return {};
    path.resize(dot);
  }
}

void Checker::report(std::string code, const std::vector<std::string>& fields, std::string message,
                     std::string label, std::string help) {
  if (!std::ranges::all_of(fields, [this](const std::string& field) { return reading_.reliable(field); }))
    return;
  for (const std::string& field : fields) {
    if (!reading_.by_preset(field)) continue;
    std::string origin = fmt::format("`{}` is from preset {}", field, reading_.preset);
    if (&field == &fields.front()) {
      origin = field.starts_with("filter.")
                   ? fmt::format("filter = [] above all tables removes those of preset {}", reading_.preset)
                   : fmt::format("what the file says goes before preset {}", reading_.preset);
    }
    help += (help.empty() ? "" : "; ") + origin;
  }
  if (!group_.empty()) message += fmt::format(" in group {}", group_);
  diagnostics_.add(
      {std::move(code), place(fields.front()), std::move(message), std::move(label), std::move(help)});
}

void Checker::add(const std::vector<std::string>& fields, std::string message, std::string label,
                  std::string help) {
  report("contradiction", fields, std::move(message), std::move(label), std::move(help));
}

void Checker::add_inside(const std::string& field, std::string_view text, std::size_t begin,
                         std::size_t length, std::string message, std::string label, std::string help) {
  if (!reading_.reliable(field)) return;
  Place where = place(field);
  // Only where the source has the text as it is, between quotes.
  const bool plain = where.line == where.end_line && where.end_column == where.column + code_points(text) + 2;
  if (plain) {
    where.column += 1 + code_points(text.substr(0, begin));
    where.end_column = where.column + code_points(text.substr(begin, length));
  }
  diagnostics_.add({"condition", where, std::move(message), std::move(label), std::move(help)});
}

void Checker::add_data(const std::vector<std::string>& fields, std::string message, std::string label,
                       std::string help) {
  report("data", fields, std::move(message), std::move(label), std::move(help));
}

void Checker::check_learning() {
  check_source();
  check_model();
  check_parameters();
  check_devices();
  check_training();
  check_consistency();
  check_rhythm();
}

void Checker::check_fields() {
  check_learning();
  check_recovery();
  check_cluster();
  check_architecture();
  check_compute();
  check_pace();
  check_stragglers();
  check_filters();
  check_faults();
  check_slowness();
}

bool Checker::can_load() const {
  return s_.model.kind != ModelKind::phantom && reading_.reliable("model.kind") && reading_.complete &&
         reading_.reliable("data") && !too_large_ && fits_source() &&
         !(needs_path(s_.data.source) && s_.data.path.empty());
}

bool Checker::fits_source() const {
  return s_.model.kind == ModelKind::phantom ||
         (s_.model.kind == ModelKind::logistic) == is_sparse(s_.data.source);
}

void Checker::check_source() {
  const DataSpec& d = s_.data;
  if (needs_path(d.source) && d.path.empty()) {
    add({"data.source", "data.path"}, fmt::format("{} needs `path`", name_of(d.source)),
        "which file or folder?", "for example path = \"samples.csv\"");
  }
  if (d.source == DataSource::clicks) return check_clicks();
  if (d.source != DataSource::blobs && d.source != DataSource::spirals && d.source != DataSource::teacher)
    return;
  const double features = d.source == DataSource::spirals ? 2 : static_cast<double>(d.features);
  const double outputs = d.source == DataSource::teacher ? static_cast<double>(d.classes) : 0;
  too_large_ =
      static_cast<double>(d.samples) * (features + outputs) + static_cast<double>(d.classes) * features >
      most_values;
  if (too_large_) {
    add({"data.samples", "data.features", "data.classes"},
        fmt::format("{} samples of {} features and {} classes are too many", d.samples, features, d.classes),
        "too large for memory", fmt::format("at most {:.0f} numbers in all", most_values));
  }
}

void Checker::check_clicks() {
  const DataSpec& d = s_.data;
  if (d.features < d.nonzeros) {
    too_large_ = true;
    return add({"data.features", "data.nonzeros", "data.source"},
               fmt::format("{} for samples of {}", counted(d.features, "feature"), d.nonzeros),
               "must be at least `nonzeros`", "for example features = 100_000");
  }
  too_large_ = static_cast<double>(d.samples) * static_cast<double>(d.nonzeros) > most_values;
  if (too_large_) {
    add({"data.samples", "data.nonzeros", "data.source"},
        fmt::format("{} samples of {} features are too many", d.samples, d.nonzeros), "too large for memory",
        fmt::format("at most {:.0f} numbers in all", most_values));
  }
}

void Checker::check_logistic() {
  if (s_.training.feature_blocks > 1 && s_.model.kind != ModelKind::logistic) {
    add({"training.feature_blocks", "training.optimizer", "model.kind"},
        "blocks of features need sparse data", "not with this kind of model", "kind = \"logistic\"");
  }
  if (fits_source()) return;
  const bool logistic = s_.model.kind == ModelKind::logistic;
  const bool given = reading_.given("model.kind");
  add({given ? "model.kind" : "data.source", "model.kind", "data.source"},
      fmt::format("{} cannot learn from {}", name_of(s_.model.kind), name_of(s_.data.source)),
      logistic ? "needs sparse data" : "needs dense data",
      logistic ? "source = \"clicks\" or \"libsvm\" in [data]" : "kind = \"logistic\" in [model]");
}

void Checker::check_model() {
  const ModelSpec& m = s_.model;
  check_logistic();
  if (m.kind != ModelKind::mlp || !fits_source()) return;
  const std::string layers = "model.layers", weights = "model.weights", biases = "model.biases";
  if (m.mlp.layers.size() < 2) {
    return add({layers, "model.kind"}, "a model needs at least two layers", "inputs and outputs",
               "for example layers = [64, 32, 10]");
  }
  const std::size_t depth = m.mlp.layers.size() - 1;
  if (!m.weights.empty() && m.weights.size() != depth) {
    add({weights, layers}, fmt::format("`model.weights` has {} layers", m.weights.size()),
        fmt::format("`layers` makes {}", depth));
  }
  for (std::size_t l = 0; l < std::min(depth, m.weights.size()); ++l) {
    const auto rows = static_cast<std::size_t>(m.mlp.layers[l + 1]),
               cols = static_cast<std::size_t>(m.mlp.layers[l]);
    const bool fits = m.weights[l].size() == rows &&
                      std::ranges::all_of(m.weights[l], [&](const auto& row) { return row.size() == cols; });
    if (!fits)
      add({weights, layers}, fmt::format("the weights of layer {} have the wrong shape", l + 1),
          fmt::format("must be {} of {}", counted(rows, "row"), counted(cols, "number")));
  }
  if (m.biases.empty()) return;
  if (!m.mlp.bias)
    return add({biases, "model.bias"}, "`model.biases` is given for a model without biases", "bias is false",
               "remove one of them");
  bool fits = m.biases.size() == depth;
  for (std::size_t l = 0; fits && l < depth; ++l)
    fits = m.biases[l].size() == static_cast<std::size_t>(m.mlp.layers[l + 1]);
  if (!fits)
    add({biases, layers}, "the biases have the wrong shape",
        "must be one row per layer, one number per output");
}

void Checker::check_parameters() {
  if (!knows_model()) return;
  const bool phantom = s_.model.kind == ModelKind::phantom, logistic = s_.model.kind == ModelKind::logistic;
  const std::int64_t parameters = parameter_count(s_.model);
  const std::string field = phantom ? "model.parameters" : logistic ? "data.features" : "model.layers";
  if (!phantom && static_cast<double>(parameters) > most_values) {
    add({field, "model.kind"}, fmt::format("the model has {} parameters", parameters),
        fmt::format("at most {:.0f} fit in memory", most_values),
        "kind = \"phantom\" simulates the time of larger ones");
  }
  if (s_.cluster.servers > parameters) {
    add({"cluster.servers", field, "model.kind", "model.bias"},
        fmt::format("`cluster.servers` is {}", s_.cluster.servers),
        fmt::format("the model has only {}", counted(parameters, "parameter")));
  }
  if (logistic && s_.training.feature_blocks > parameters) {
    add({"training.feature_blocks", "training.optimizer", field, "model.kind", "model.bias"},
        fmt::format("`training.feature_blocks` is {}", s_.training.feature_blocks),
        fmt::format("the model has only {}", counted(parameters, "parameter")));
  }
}

void Checker::check_training() {
  const TrainingSpec& t = s_.training;
  const std::string steps = "training.steps", epochs = "training.epochs", duration = "training.duration",
                    target = "training.target", kind = "model.kind";
  const bool ends = t.steps || t.epochs || t.duration;
  if (!ends && !t.target.given()) {
    add({"training", steps, epochs, duration, target}, "the run has no end",
        "one of steps, epochs, duration or a target is needed", "for example epochs = 5 in [training]");
  }
  if (!ends && t.target.given() && !t.target.stop) {
    add({target, steps, epochs, duration}, "the run has no end", "the target does not stop it",
        "give steps, epochs or duration as well");
  }
  if (t.schedule == RateSchedule::cosine && !t.steps && !t.epochs) {
    add({"training.schedule", steps, epochs}, "a cosine schedule needs to know its end",
        "neither steps nor epochs is given", "give steps or epochs");
  }
  if (s_.model.kind != ModelKind::phantom) return;
  const std::string label = "not with kind = phantom";
  if (t.epochs)
    add({epochs, kind}, "a phantom model has no data, so no epochs", label, "use steps or duration");
  if (t.target.given()) add({target, kind}, "a phantom model has no loss or accuracy to reach", label);
  if (t.evaluate_every)
    add({"training.evaluate_every", kind}, "a phantom model has nothing to evaluate", label);
  if (t.multi_precision)
    add({"training.multi_precision", kind}, "a phantom model has no weights to keep a copy of", label);
  if (t.loss_scale != 1)
    add({"training.loss_scale", kind}, "a phantom model has no gradients to scale", label);
}

void Checker::check_consistency() {
  const ConsistencySpec& c = s_.consistency;
  const ConsistencyRow& row = *c.model;
  const std::int64_t n = s_.cluster.workers;
  const std::string model = "consistency.model", k = "consistency.k", backup = "consistency.backup",
                    workers = "cluster.workers";
  if (row.group == Group::k) {
    if (!c.k && !c.backup) {
      add({model, k, backup}, fmt::format("{} needs `k`", row.name), "how many pushes make an update?",
          row.has_backup() ? "give k, or backup (then k is the workers less backup)"
                           : fmt::format("for example k = {}", std::min<std::int64_t>(n, 4)));
    }
    if (c.k && c.backup) add({backup, k, model}, "`k` and `backup` say the same thing", "give one of them");
    if (c.k && *c.k > n)
      add({k, model, workers}, fmt::format("`consistency.k` is {}", *c.k), there_are(n, "worker"));
    if (c.backup && *c.backup >= n) {
      add({backup, model, workers}, fmt::format("`consistency.backup` is {}", *c.backup),
          fmt::format("must leave at least one worker of {}", n));
    }
  }
  if (row.dynamic && c.staleness_max < c.staleness) {
    const std::string given =
        reading_.given("consistency.staleness_max") ? "consistency.staleness_max" : "consistency.staleness";
    add({given, "consistency.staleness", "consistency.staleness_max", model},
        fmt::format("`staleness_max` {} is below `staleness` {}", c.staleness_max, c.staleness),
        "the largest bound cannot be below the least");
  }
  double last = -1;
  for (std::size_t i = 0; i < c.staleness_schedule.size(); ++i) {
    const auto& step = c.staleness_schedule[i];
    const auto count = [](double value) { return value >= 0 && value <= 1e9 && value == std::floor(value); };
    if (step.size() != 2 || !count(step[0]) || !count(step[1]) || step[0] <= last) {
      return add({"consistency.staleness_schedule", model},
                 fmt::format("row {} of the schedule does not fit", i + 1),
                 "must be rows [clock, staleness] of integers, clocks rising",
                 "for example [[0, 0], [100, 3]]");
    }
    last = step[0];
  }
}

void Checker::check_shape(const DataShape& train) {
  const MlpShape& mlp = s_.model.mlp;
  const std::string_view source = name_of(s_.data.source);
  if (mlp.layers.size() >= 2 && mlp.layers.front() != train.features) {
    add({"model.layers"}, fmt::format("the first layer has {}", counted(mlp.layers.front(), "input")),
        fmt::format("{} has {}", source, counted(train.features, "feature")),
        fmt::format("begin layers with {}", train.features));
  }
  if (mlp.layers.size() >= 2 && mlp.layers.back() != train.outputs) {
    add({"model.layers"}, fmt::format("the last layer has {}", counted(mlp.layers.back(), "output")),
        fmt::format("{} has {} {}", source, train.outputs, train.classification ? "classes" : "targets"),
        fmt::format("end layers with {}", train.outputs));
  }
  if (!train.classification) {
    const std::string regression = fmt::format("{} is a regression", source);
    if (mlp.loss == Loss::cross_entropy)
      add({"model.loss"}, "cross-entropy needs classes", regression, "use loss = \"half-sse\"");
    if (s_.training.target.accuracy)
      add({"training.target.accuracy"}, "a regression has no accuracy", regression, "use a target loss");
    if (s_.data.partition == Partition::by_label || s_.data.partition == Partition::dirichlet) {
      add({"data.partition"}, fmt::format("partition {} needs classes", name_of(s_.data.partition)),
          regression, "partition = \"iid\"");
    }
  }
}

void Checker::check_data(const DataShape& train) {
  if (s_.model.kind == ModelKind::mlp) {
    check_shape(train);
  } else {  // its size was not known before
    check_parameters();
    check_devices();
    check_pace();
  }
  const std::int64_t shard = train.samples / s_.cluster.workers;
  if (s_.cluster.workers > train.samples) {
    add({"cluster.workers"}, fmt::format("`cluster.workers` is {}", s_.cluster.workers),
        there_are(train.samples, "training sample"));
  } else if (s_.training.batch_size > shard) {
    add({"training.batch_size", "cluster.workers"},
        fmt::format("`training.batch_size` is {}", s_.training.batch_size),
        fmt::format("larger than a worker's shard of {}", counted(shard, "sample")),
        fmt::format("{} over {}", counted(train.samples, "training sample"),
                    counted(s_.cluster.workers, "worker")));
  }
}

}  // namespace psim
