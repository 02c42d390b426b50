#include "sim/scenario/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/scenario/choices.hpp"

namespace psim {

double mean_step_seconds(const Scenario& s, std::size_t worker) {
  if (s.compute.time) return s.compute.time->value;
  return flops_per_sample(s.model) * static_cast<double>(s.training.batch_size) / s.cluster.worker.speed.of(worker).value;
}

Place Checker::place(std::string path) const {
  for (;;) {
    if (const auto it = places_.find(path); it != places_.end()) return it->second;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return {};
    path.resize(dot);
  }
}

void Checker::add(const std::string& path, std::string message, std::string label, std::string help) {
  diagnostics_.add({path == "data.source" || path == "data.path" ? "data" : "contradiction", place(path), std::move(message), std::move(label), std::move(help)});
}

void Checker::check_fields() {
  check_model();
  check_training();
  check_consistency();
  check_cluster();
  check_compute();
  check_stragglers();
}

void Checker::check_model() {
  const ModelSpec& m = s_.model;
  if (m.kind == ModelKind::phantom) return;
  if (m.mlp.layers.size() < 2) {
    return add("model.layers", "a model needs at least two layers", "inputs and outputs", "for example layers = [64, 32, 10]");
  }
  const std::size_t depth = m.mlp.layers.size() - 1;
  if (!m.weights.empty()) {
    if (m.weights.size() != depth) {
      add("model.weights", fmt::format("`model.weights` has {} layers", m.weights.size()), fmt::format("`layers` makes {}", depth));
    }
    for (std::size_t l = 0; l < std::min(depth, m.weights.size()); ++l) {
      const auto rows = static_cast<std::size_t>(m.mlp.layers[l + 1]), cols = static_cast<std::size_t>(m.mlp.layers[l]);
      const bool fits = m.weights[l].size() == rows && std::ranges::all_of(m.weights[l], [&](const auto& row) { return row.size() == cols; });
      if (!fits) add("model.weights", fmt::format("the weights of layer {} have the wrong shape", l + 1), fmt::format("must be {} rows of {} numbers", rows, cols));
    }
  }
  if (m.biases.empty()) return;
  if (!m.mlp.bias) return add("model.biases", "`model.biases` is given for a model without biases", "bias is false", "remove one of them");
  bool fits = m.biases.size() == depth;
  for (std::size_t l = 0; fits && l < depth; ++l) fits = m.biases[l].size() == static_cast<std::size_t>(m.mlp.layers[l + 1]);
  if (!fits) add("model.biases", "the biases have the wrong shape", "must be one row per layer, one number per output");
}

void Checker::check_training() {
  const TrainingSpec& t = s_.training;
  const bool phantom = s_.model.kind == ModelKind::phantom;
  if (!t.steps && !t.epochs && !t.duration && !t.target.given()) {
    add("training", "the run has no end", "one of steps, epochs, duration or a target is needed", "for example epochs = 5 in [training]");
  }
  if (!t.steps && !t.epochs && !t.duration && t.target.given() && !t.target.stop) {
    add("training.target", "the run has no end", "the target does not stop it", "give steps, epochs or duration as well");
  }
  if (phantom && t.epochs) add("training.epochs", "a phantom model has no data, so no epochs", "not with kind = phantom", "use steps or duration");
  if (phantom && t.target.given()) add("training.target", "a phantom model has no loss or accuracy to reach", "not with kind = phantom");
  if (phantom && t.evaluate_every) add("training.evaluate_every", "a phantom model has nothing to evaluate", "not with kind = phantom");
  if (t.schedule == RateSchedule::cosine && !t.steps && !t.epochs) {
    add("training.schedule", "a cosine schedule needs to know its end", "neither steps nor epochs is given", "give steps or epochs");
  }
}

void Checker::check_consistency() {
  const ConsistencySpec& c = s_.consistency;
  const ConsistencyRow& row = row_of(c.model);
  const std::int64_t n = s_.cluster.workers;
  if (row.group == Group::k) {
    if (!c.k && !c.backup) {
      const bool backup = c.model == ConsistencyModel::k_sync;
      add("consistency.model", fmt::format("{} needs `k`", row.name), "how many pushes make an update?",
          backup ? "give k, or backup (then k is the workers less backup)" : "for example k = 4");
    }
    if (c.k && c.backup) add("consistency.backup", "`k` and `backup` say the same thing", "give one of them");
    if (c.k && *c.k > n) add("consistency.k", fmt::format("`consistency.k` is {}", *c.k), fmt::format("there are only {} workers", n));
    if (c.backup && *c.backup >= n) {
      add("consistency.backup", fmt::format("`consistency.backup` is {}", *c.backup), fmt::format("must leave at least one of the {} workers", n));
    }
  }
  if (c.model == ConsistencyModel::dssp && c.staleness_max < c.staleness) {
    add("consistency.staleness_max", fmt::format("`staleness_max` {} is below `staleness` {}", c.staleness_max, c.staleness), "the largest bound cannot be below the least");
  }
  double last = -1;
  for (const auto& step : c.staleness_schedule) {
    const bool good = step.size() == 2 && step[0] > last && step[1] >= 0 && step[0] == std::floor(step[0]) && step[1] == std::floor(step[1]);
    if (!good) {
      add("consistency.staleness_schedule", "not a schedule", "must be rows [clock, staleness] of integers, clocks rising", "for example [[0, 0], [100, 3]]");
      break;
    }
    last = step[0];
  }
}

void Checker::check_cluster() {
  const ClusterSpec& c = s_.cluster;
  const auto one_each = [&](const std::string& path, const Speeds& speeds, std::int64_t nodes, std::string_view what) {
    const std::size_t given_count = speeds.values.size();
    if (given_count == 1 || given_count == static_cast<std::size_t>(nodes)) return;
    add(path, fmt::format("`{}` has {} values", path, given_count), fmt::format("there are {} {}", nodes, what), "give one value for all, or one for each");
  };
  one_each("cluster.worker.speed", c.worker.speed, c.workers, "workers");
  one_each("cluster.server.speed", c.server.speed, c.servers, "servers");
  if (s_.model.kind == ModelKind::phantom || s_.model.mlp.layers.size() >= 2) {
    const std::int64_t parameters = parameter_count(s_.model);
    if (c.servers > parameters) {
      add("cluster.servers", fmt::format("`cluster.servers` is {}", c.servers), fmt::format("the model has only {} parameters", parameters));
    }
  }
  if (c.network.topology == TopologyKind::two_tier && c.network.racks > c.workers + c.servers) {
    add("cluster.network.racks", fmt::format("`cluster.network.racks` is {}", c.network.racks), fmt::format("there are only {} nodes", c.workers + c.servers));
  }
}

void Checker::check_compute() {
  const ComputeSpec& c = s_.compute;
  if (c.distribution == Distribution::uniform && c.cv * std::sqrt(3.0) > 1) {
    add("compute.cv", fmt::format("`compute.cv` is {}", c.cv), "a uniform time would become negative", "at most 0.577 (1 / sqrt(3))");
  }
  if (c.distribution == Distribution::trace && c.trace.empty()) {
    add("compute.distribution", "a trace needs its file", "`trace` is missing", "give trace = \"factors.csv\"");
  }
  if (c.distribution == Distribution::shifted_exponential) {
    for (std::int64_t w = 0; w < s_.cluster.workers; ++w) {
      const double mean = mean_step_seconds(s_, static_cast<std::size_t>(w));
      if (c.shift.value <= mean) continue;
      add("compute.shift", fmt::format("`compute.shift` is {} s", c.shift.value), fmt::format("the whole step of worker {} takes {} s in the mean", w, mean));
      break;
    }
  }
}

void Checker::check_stragglers() {
  for (std::size_t i = 0; i < s_.stragglers.size(); ++i) {
    const StragglerSpec& g = s_.stragglers[i];
    const std::string path = fmt::format("straggler.{}", i);
    for (const std::int64_t w : g.workers) {
      if (w >= s_.cluster.workers) {
        add(path + ".workers", fmt::format("there is no worker {}", w), fmt::format("workers are 0 to {}", s_.cluster.workers - 1));
      }
    }
    const double from = g.from ? g.from->value : 0;
    if (g.until && g.until->value <= from) add(path + ".until", "the slow time ends before it begins", "must be after `from`");
    if (g.every && !g.until) add(path + ".every", "a period needs an end of the slow time", "`until` is missing");
    if (g.every && g.until && g.until->value > from && g.every->value < g.until->value - from) {
      add(path + ".every", "the slow time is longer than its period", "must be at least until - from");
    }
    if (g.probability && (g.from || g.until || g.every)) {
      add(path + ".probability", "slow by chance and by the clock at once", "remove `probability`, or from, until and every", "use two [[straggler]] tables for both");
    }
  }
}

void Checker::check_data(const DataSplit& data) {
  const Dataset& train = data.train;
  const MlpShape& mlp = s_.model.mlp;
  const std::string_view source = name_of(s_.data.source);
  if (mlp.layers.front() != train.features()) {
    add("model.layers", fmt::format("the first layer has {} inputs", mlp.layers.front()), fmt::format("{} has {} features", source, train.features()),
        fmt::format("begin layers with {}", train.features()));
  }
  if (mlp.layers.back() != train.outputs()) {
    add("model.layers", fmt::format("the last layer has {} outputs", mlp.layers.back()), fmt::format("{} has {} {}", source, train.outputs(), train.classes > 0 ? "classes" : "targets"),
        fmt::format("end layers with {}", train.outputs()));
  }
  if (train.classes == 0) {
    if (mlp.loss == Loss::cross_entropy) add("model.loss", "cross-entropy needs classes", fmt::format("{} is a regression", source), "use loss = \"half-sse\"");
    if (s_.training.target.accuracy) add("training.target.accuracy", "a regression has no accuracy", "use a target loss");
    if (s_.data.partition == Partition::by_label || s_.data.partition == Partition::dirichlet) {
      add("data.partition", fmt::format("partition {} needs classes", name_of(s_.data.partition)), fmt::format("{} is a regression", source));
    }
  }
  const std::int64_t shard = train.size() / s_.cluster.workers;
  if (s_.cluster.workers > train.size()) {
    add("cluster.workers", fmt::format("`cluster.workers` is {}", s_.cluster.workers), fmt::format("there are only {} training samples", train.size()));
  } else if (s_.training.batch_size > shard) {
    add("training.batch_size", fmt::format("`training.batch_size` is {}", s_.training.batch_size), fmt::format("larger than a worker's shard of {} samples", shard),
        fmt::format("{} training samples over {} workers", train.size(), s_.cluster.workers));
  }
}

}  // namespace psim
