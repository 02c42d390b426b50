// How often workers and servers meet, and what a message is: which of it goes together.
#include <fmt/format.h>

#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

void Checker::check_rhythm() {
  const TrainingSpec& t = s_.training;
  const ConsistencyRule rule = make_rule(s_.consistency, s_.cluster.workers);
  const std::string model = "consistency.model", algorithm = "training.algorithm", update = "training.update",
                    pull_every = "training.pull_every";
  const std::string_view name = name_of(s_.consistency.model);
  const bool takes_all = rule.waits_for_all();
  if (t.algorithm == Algorithm::elastic) {
    if ((rule.group != 1 || rule.drops_stale) && !takes_all)
      add({algorithm, model}, "elastic averaging needs every push", fmt::format("{} makes groups", name),
          "use bsp, ssp or asp");
    if (t.optimizer.kind != "sgd")
      add({"training.optimizer", algorithm}, "elastic averaging is plain gradient descent on the workers",
          "servers run no optimizer", "optimizer = \"sgd\"");
    if (t.delay_compensation > 0)
      add({"training.delay_compensation", algorithm}, "elastic averaging has no gradients to compensate",
          "pushes are moves towards a worker", "remove one of them");
    if (t.staleness_aware)
      add({"training.staleness_aware", algorithm}, "elastic averaging takes every push in full",
          "or the centre would not move as far as the worker", "remove one of them");
    if (t.loss_scale != 1)
      add({"training.loss_scale", algorithm}, "elastic averaging has no gradients to scale",
          "pushes are moves towards a worker", "remove one of them");
    if (t.pull_every > 1)
      add({pull_every, algorithm}, "elastic averaging pushes when it pulls", "they are one move",
          "local_steps says how often it does");
  }
  if (t.update == UpdateAt::worker) {
    if (!takes_all)
      add({update, model}, "workers that update themselves need every update",
          fmt::format("under {} they would miss some", name), "use bsp");
    if (t.algorithm == Algorithm::elastic)
      add({update, algorithm}, "elastic averaging has no sum that workers could apply",
          "pushes are moves towards a worker", "update = \"server\"");
  }
  if (t.pull_every > 1 && rule.drops_stale) {
    add({pull_every, model}, fmt::format("`training.pull_every` is {}", t.pull_every),
        fmt::format("under {} a gradient on old weights is too late", name), "use ssp, asp or dssp");
  }
  if (t.work == WorkPolicy::dynamic && !takes_all)
    add({"training.work", model}, "dynamic work needs all workers to be in the same clock",
        fmt::format("under {} they are not", name), "use bsp, or work = \"proportional\"");
  if (s_.cluster.delivery.source == Delivery::database && s_.model.kind == ModelKind::phantom &&
      !s_.cluster.delivery.bytes_per_sample)
    add({"data.delivery", "data.bytes_per_sample", "model.kind"},
        "a phantom model has no samples that could be counted", "how large is one?",
        "for example bytes_per_sample = \"3kB\"");
  check_stealing();
  check_overlap();
  check_sparse();
}

// A helper computes on the weights of the same clock, and on samples that are told apart from its own.
void Checker::check_stealing() {
  const TrainingSpec& t = s_.training;
  if (t.work != WorkPolicy::stealing) return;
  const std::string work = "training.work", why = "stealing shares out one batch of each worker and clock";
  if (s_.consistency.model != "bsp")
    add({work, "consistency.model"}, "stolen work needs all workers to be in the same clock",
        fmt::format("under {} they may not be", name_of(s_.consistency.model)), "use bsp");
  if (t.algorithm == Algorithm::elastic)
    add({work, "training.algorithm"}, "elastic averaging has no gradient that others could compute", why,
        "work = \"proportional\", or algorithm = \"gradient\"");
  if (t.batches_per_clock() > 1 || t.warmup_steps > 1)
    add({work, "training.local_steps", "training.accumulate", "training.warmup_steps"},
        "a clock of several batches cannot be shared out", why,
        "work = \"proportional\", or local steps and accumulate of 1");
  if (s_.model.kind == ModelKind::logistic)
    add({work, "model.kind"}, "a helper has pulled only the weights of its own samples", why,
        "work = \"proportional\"");
  if (s_.messages.overlap && s_.messages.unit == MessageUnit::array)
    add({work, "messages.overlap"}, "a layer's gradient is not known before the last sample's", why,
        "overlap = false, or work = \"proportional\"");
}

// Workers of a sparse model know the weights of a batch, not a whole copy.
void Checker::check_sparse() {
  if (s_.model.kind != ModelKind::logistic) return;
  const TrainingSpec& t = s_.training;
  const std::string kind = "model.kind", label = "a worker of a sparse model has no whole copy of it";
  if (t.algorithm == Algorithm::elastic)
    add({"training.algorithm", kind}, "elastic averaging needs whole models", label,
        "algorithm = \"gradient\"");
  if (t.update == UpdateAt::worker)
    add({"training.update", kind}, "workers that update need whole models", label, "update = \"server\"");
  if (t.pull_every > 1)
    add({"training.pull_every", kind}, "a worker that goes on alone needs the whole model", label,
        "pull_every = 1");
  if (t.delay_compensation > 0)
    add({"training.delay_compensation", kind}, "delay compensation needs the whole model that was sent",
        label, "remove it; staleness_aware = true makes late gradients smaller");
}

void Checker::check_overlap() {
  if (!s_.messages.overlap || s_.messages.unit != MessageUnit::array) return;
  const TrainingSpec& t = s_.training;
  const std::string overlap = "messages.overlap", label = "overlap pushes a layer as soon as it is done";
  if (make_rule(s_.consistency, s_.cluster.workers).drops_stale && s_.consistency.model->has_k()) {
    add({overlap, "consistency.model"},
        fmt::format("{} takes or drops a step as a whole", name_of(s_.consistency.model)), label,
        "use bsp, ssp, asp, k-async or k-batch-async");
  }
  if (t.algorithm == Algorithm::elastic)
    add({overlap, "training.algorithm"}, "elastic averaging pushes before the step", label,
        "overlap = false");
  if (t.batches_per_clock() > 1 || t.warmup_steps > 1)
    add({overlap, "training.local_steps", "training.accumulate", "training.warmup_steps"},
        "a clock of several batches is pushed as a whole", label,
        "overlap = false, or local steps and accumulate of 1");
  if (t.pull_every > 1)
    add({overlap, "training.pull_every"}, "a worker that goes on alone has all its weights", label,
        "overlap = false, or pull_every = 1");
}

}  // namespace psim
