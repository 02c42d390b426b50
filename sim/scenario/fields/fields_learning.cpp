#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

namespace {

std::vector<std::string_view> sources_with(std::string_view field) {
  return names_of_rows<DataSourceRow>([field](const auto& row) { return lists(row.fields, field); });
}
std::vector<std::string_view> models_with(std::string_view field) {
  return names_of_rows<ModelRow>([field](const auto& row) { return lists(row.fields, field); });
}

void describe_generated(FieldVisitor& v, DataSpec& d) {
  v.field("samples", &d.samples,
          {.doc = "How many samples to generate.",
           .min = 2,
           .max = 1e7,
           .when_key = "source",
           .when = sources_with("samples")});
  v.field("features", &d.features,
          {.doc = "Inputs per sample; for `clicks` the number of all features.",
           .min = 1,
           .max = 1e6,
           .when_key = "source",
           .when = sources_with("features")});
  v.field("classes", &d.classes,
          {.doc = "Number of classes; for `teacher` of outputs.",
           .min = 1,
           .max = 1e4,
           .when_key = "source",
           .when = sources_with("classes")});
  v.field("noise", &d.noise,
          {.doc = "Standard deviation of the noise: of a sample's position (blobs, spirals), of a target "
                  "(teacher), of the log-odds (clicks).",
           .min = 0,
           .max = 1e3,
           .when_key = "source",
           .when = sources_with("noise")});
  v.field("nonzeros", &d.nonzeros,
          {.doc = "Features of a sample, one from each categorical field.",
           .min = 1,
           .max = 1e4,
           .when_key = "source",
           .when = sources_with("nonzeros")});
  v.field("exponent", &d.exponent,
          {.doc = "Zipf's law: the share of the r-th most frequent feature of a field is proportional to "
                  "r^-exponent.",
           .min = 0,
           .max = 10,
           .when_key = "source",
           .when = sources_with("exponent")});
}

}  // namespace

void describe_data(FieldVisitor& v, DataSpec& d) {
  v.field("source", choice(d.source), {.doc = "Where the samples come from."});
  describe_settings<DataSourceRow>(v, "source", d.settings);
  v.field(
      "path", &d.path,
      {.doc = "csv, libsvm: the file; idx: the folder. Relative paths are looked up in --data-dir, PSIM_DATA "
              "and the scenario's folder.",
       .when_key = "source",
       .when = names_of_rows<DataSourceRow>([](const auto& row) { return row.reads_files; })});
  v.field("test_fraction", &d.test_fraction,
          {.doc = "Share of the samples set aside for the test; 0: the validation set, or else the training "
                  "set, takes the test set's place.",
           .min = 0,
           .max = 1,
           .below_max = true,
           .when_key = "source",
           .when = sources_with("test_fraction")});
  v.field(
      "validation_fraction", &d.validation_fraction,
      {.doc = "Share of the remaining samples set aside to judge the run while it goes on: its curve, its "
              "target, and conditions of faults on loss or accuracy. The test set is then evaluated once, "
              "on the last weights. Samples of every class are set aside alike. 0: the test set does both.",
       .min = 0,
       .max = 1,
       .below_max = true});
  v.field("split_seed", &d.split_seed,
          {.doc = "Seed that draws the test and validation samples. Runs that share it set the same samples "
                  "aside, whatever their own seeds are. With [tune] all runs share it, trials included, so "
                  "that no trial learns from a test sample of the comparison.",
           .min = 0,
           .max = 1e15,
           .default_text = "the run's seed; 1 with [tune]"});
  describe_generated(v, d);
  v.field("inputs", &d.inputs,
          {.doc = "The samples, one row each.", .when_key = "source", .when = sources_with("inputs")});
  v.field("targets", &d.targets,
          {.doc = "Their targets, one row each.", .when_key = "source", .when = sources_with("targets")});
  v.field("partition", choice(d.partition),
          {.doc = "How the training samples are distributed over the workers."});
  v.field("dirichlet_alpha", &d.dirichlet_alpha,
          {.doc = "Concentration: small means that a worker sees few classes.",
           .min = 0,
           .max = 1e6,
           .above_min = true,
           .when_key = "partition",
           .when = {"dirichlet"}});
}

namespace {

void describe_phantom(FieldVisitor& v, Scenario& s) {
  ModelSpec& m = s.model;
  v.field("parameters", &m.parameters,
          {.doc = "Number of parameters.",
           .min = 1,
           .max = 1e10,
           .when_key = "kind",
           .when = models_with("parameters")});
  v.field("arrays", &m.phantom_arrays,
          {.doc = "Size of each parameter array, from the input layer on; replaces `parameters`.",
           .min = 1,
           .max = 1e10,
           .filled = true,
           .when_key = "kind",
           .when = models_with("arrays"),
           .default_text = "one array"});
  v.field(
      "work", &m.phantom_work,
      {.doc = "Part of each array in the computing of a step, in the order of `arrays`: numbers that count "
              "in proportion to each other.",
       .min = 0,
       .max = 1e12,
       .filled = true,
       .when_key = "kind",
       .when = models_with("work"),
       .default_text = "in proportion to its size"});
  v.field("flops_per_sample", &m.flops_per_sample,
          {.doc = "Floating-point operations of one sample's gradient.",
           .min = 0,
           .max = 1e18,
           .when_key = "kind",
           .when = models_with("flops_per_sample"),
           .need = {.keys = {"compute.time", "inference", "group"},
                    .text = "without compute.time",
                    .met =
                        [&s] {
                          const InferenceSpec& inference = s.cluster.inference;
                          return !s.compute.time || !s.groups.empty() ||
                                 (inference.given && !inference.flops_per_request);
                        },
                    .kept = m.flops_per_sample != ModelSpec{}.flops_per_sample}});
  v.field("activations", &m.activations,
          {.doc = "Values of one sample that a pipeline stage passes to the next.",
           .min = 0,
           .max = 1e9,
           .when_key = "kind",
           .when = models_with("activations")});
  v.field("activations_per_sample", &s.activations_per_sample,
          {.doc = "What the backward pass of one sample needs of its forward pass: memory of the nodes that "
                  "compute gradients. Arrays, or stages of a pipeline, have equal parts of it.",
           .min = 0,
           .max = 1e15,
           .when_key = "kind",
           .when = models_with("activations_per_sample")});
}

}  // namespace

void describe_model(FieldVisitor& v, Scenario& s) {
  ModelSpec& m = s.model;
  v.field("kind", choice(m.kind), {.doc = "The kind of model. A phantom model has no data and no loss."});
  describe_settings<ModelRow>(v, "kind", m.settings);
  v.field("layers", &m.mlp.layers,
          {.doc = "Widths of the layers, inputs first, outputs last.",
           .min = 1,
           .max = 1e6,
           .when_key = "kind",
           .when = models_with("layers")});
  v.field("bias", &m.mlp.bias,
          {.doc = "Whether the layers have biases; for `logistic`, whether there is one more feature that is "
                  "always 1.",
           .when_key = "kind",
           .when = models_with("bias")});
  v.field("activation", choice(m.mlp.activation),
          {.doc = "Activation of the hidden layers; the output layer is linear.",
           .when_key = "kind",
           .when = models_with("activation"),
           .need = {.keys = {"model.layers", "group"}, .text = "with hidden layers", .met = [&s] {
                      return s.model.mlp.layers.size() > 2 || !s.groups.empty();
                    }}});
  v.field("loss", choice(m.mlp.loss),
          {.doc = "The loss of one sample; a batch takes the mean.",
           .when_key = "kind",
           .when = models_with("loss")});
  v.field("init", choice(m.init),
          {.doc = "How the weights are drawn; biases start at zero.",
           .when_key = "kind",
           .when = models_with("init"),
           .need = {.keys = {"model.weights"}, .text = "without weights", .met = [&m] {
                      return m.weights.empty();
                    }}});
  v.field("weights", &m.weights,
          {.doc = "Initial weights instead of drawn ones: per layer, its rows (outputs x inputs).",
           .when_key = "kind",
           .when = models_with("weights")});
  v.field("biases", &m.biases,
          {.doc = "Initial biases instead of zeros: one row per layer.",
           .when_key = "kind",
           .when = models_with("biases")});
  v.field("precision", choice(m.precision),
          {.doc = "Precision of weights, gradients and messages. Values are rounded to half precision where "
                  "weights are stored and values are sent; workers compute in single precision."});
  describe_phantom(v, s);
}

namespace {

void describe_optimizer(FieldVisitor& v, OptimizerSpec& o) {
  const auto with_net = names_of_rows<OptimizerRow>([](const auto& row) { return row.elastic_net; });
  const auto without = names_of_rows<OptimizerRow>([](const auto& row) { return !row.elastic_net; });
  describe_settings<OptimizerRow>(v, "optimizer", o.settings);
  v.field("weight_decay", &o.weight_decay,
          {.doc = "L2 regularisation: adds this times the weight to its gradient.",
           .min = 0,
           .max = 1e3,
           .when_key = "optimizer",
           .when = without});
  v.field("l1", &o.l1,
          {.doc = "Penalty: adds this times the sum of the absolute weights to the loss, and makes weights "
                  "exactly 0.",
           .min = 0,
           .max = 1e3,
           .when_key = "optimizer",
           .when = with_net});
  v.field("l2", &o.l2,
          {.doc = "Penalty: adds this times half the sum of the squared weights to the loss.",
           .min = 0,
           .max = 1e3,
           .when_key = "optimizer",
           .when = with_net});
}

void describe_half_precision(FieldVisitor& v, TrainingSpec& t) {
  v.field(
      "multi_precision", &t.multi_precision,
      {.doc =
           "Whether the nodes that run the optimizer keep a copy of the weights in single precision. Without "
           "it, small updates are rounded away (Micikevicius et al., ICLR 2018; MXNet's multi_precision).",
       .when_key = "model.precision",
       .when = {"float16", "bfloat16"}});
  v.field("loss_scale", &t.loss_scale,
          {.doc = "Gradients are multiplied by this before rounding and divided by it afterwards, so that "
                  "small ones do not vanish.",
           .min = 0,
           .max = 16'777'216,
           .above_min = true,
           .when_key = "model.precision",
           .when = {"float16", "bfloat16"}});
}

void describe_target(FieldVisitor& v, TrainingSpec& t) {
  v.table("target", "A goal; psim reports the time to reach it.", [&] {
    v.field("accuracy", &t.target.accuracy,
            {.doc = "Reached when the accuracy is at least this.", .min = 0, .max = 1});
    v.field("loss", &t.target.loss,
            {.doc = "Reached when the loss is at most this.", .min = 0, .max = 1e300});
    v.field(
        "hold", &t.target.hold,
        {.doc = "Reached only when this many evaluations in a row are at least as good. The time to the "
                "target is that of the first one of them. With `stop` the run ends at the last one of them.",
         .min = 1,
         .max = 1e6,
         .need = {.keys = {"training.target.accuracy", "training.target.loss"},
                  .text = "with an accuracy or a loss to reach",
                  .met = [&t] { return t.target.given(); }},
         .default_text = "1"});
    v.field("stop", &t.target.stop,
            {.doc = "Whether the run ends when the target is reached.",
             .need = {.keys = {"training.target.accuracy", "training.target.loss"},
                      .text = "with an accuracy or a loss to reach",
                      .met = [&t] { return t.target.given(); }}});
  });
}

void describe_evaluation(FieldVisitor& v, TrainingSpec& t) {
  v.field(
      "evaluate_every", &t.evaluate_every,
      {.doc = "When the weights are evaluated: whenever this much time has passed, or whenever the "
              "number of updates, or of samples whose gradients the model has taken in, passes a multiple "
              "of this. A crash may set the weights back to an older version: passing a multiple downwards "
              "counts too. The first and the last weights are always evaluated. Evaluations take no "
              "simulated time.",
       .default_text = "about once an epoch"});
  describe_target(v, t);
}

}  // namespace

void describe_training(FieldVisitor& v, TrainingSpec& t, const ModelSpec& m) {
  v.field("batch_size", &t.batch_size, {.doc = "Samples per worker and step.", .min = 1, .max = 1e7});
  v.field("steps", &t.steps,
          {.doc = "The run ends after this many clocks of each worker.", .min = 1, .max = 1e9});
  v.field("epochs", &t.epochs,
          {.doc = "The run ends after this many passes over the training set, counted in batches of all "
                  "workers. Each worker has local_steps * accumulate batches in a clock, and warmup_steps * "
                  "accumulate in the first.",
           .min = 0,
           .max = 1e6,
           .above_min = true});
  v.field("samples", &t.samples,
          {.doc = "The run ends after this many samples, counted as `epochs` counts them: in batches of all "
                  "workers. A phantom model may have it too.",
           .min = 1,
           .max = 1e15});
  v.field("duration", &t.duration,
          {.doc = "The run ends after this simulated time.", .min = 0, .max = 1e9, .above_min = true});
  v.field("optimizer", choice(t.optimizer.kind), {.doc = "How the servers apply an aggregated gradient."});
  describe_half_precision(v, t);
  v.field("learning_rate", &t.learning_rate,
          {.doc = "Step size.",
           .min = 0,
           .max = 1e6,
           .need = {.keys = {"model.kind"}, .text = "with a model that learns", .met = [&m] {
                      return m.kind->has_numbers;
                    }}});
  v.field("schedule", choice(t.schedule), {.doc = "How the learning rate changes."});
  v.field("schedule_every", &t.schedule_every,
          {.doc = "Epochs between two drops.",
           .min = 0,
           .max = 1e6,
           .above_min = true,
           .when_key = "schedule",
           .when = {"step"}});
  v.field("schedule_factor", &t.schedule_factor,
          {.doc = "Factor of each drop.", .min = 0, .max = 1, .when_key = "schedule", .when = {"step"}});
  v.field("staleness_aware", &t.staleness_aware,
          {.doc = "Whether a stale gradient counts less.",
           .when_key = "architecture.kind",
           .when = {"parameter-server"}});
  v.field("staleness_weight", choice(t.staleness_weight),
          {.doc = "How much less, by its staleness in updates.",
           .need = {.keys = {"training.staleness_aware"}, .text = "with staleness_aware", .met = [&t] {
                      return t.staleness_aware;
                    }}});
  describe_settings<StalenessWeightRow>(v, "staleness_weight", t.staleness_settings);
  describe_optimizer(v, t.optimizer);
  v.field("feature_blocks", &t.feature_blocks,
          {.doc = "Number of blocks of consecutive features. Clock t changes only the weights of block t mod "
                  "feature_blocks (Li et al., NIPS 2014).",
           .min = 1,
           .max = 1e6,
           .when_key = "optimizer",
           .when = names_of_rows<OptimizerRow>([](const auto& row) { return row.elastic_net; })});
  describe_rhythm(v, t);
  describe_work(v, t);
  describe_evaluation(v, t);
}

}  // namespace psim
