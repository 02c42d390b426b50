// The table of features: what switches each on, what it needs, and what it takes away.
#include <fmt/format.h>

#include "sim/scenario/spec/fault_condition.hpp"
#include "sim/scenario/spec/features.hpp"

namespace psim {
namespace {

using enum Property;

constexpr std::string_view in_servers = "kind = \"parameter-server\" in [architecture]",
                           static_work = "work = \"static\"";

// Failures of any kind, and what helps against them, make nodes send again what may be lost.
constexpr Demands failures{.needs = servers | one_group, .takes = heard_once};

// A group of pushes is made by each shard for itself: a worker that goes would complete those of some shards
// and leave those of others waiting.
bool groups_by_shard(const Scenario& s) {
  const ConsistencyRow& row = row_of(s.consistency.model);
  return row.group == Group::k && row.gate == Gate::own &&
         (s.cluster.servers > 1 || s.messages.unit == MessageUnit::array);
}

bool is(const Scenario& s, ModelKind kind) { return s.model.kind == kind; }
bool has_database(const Scenario& s) { return s.cluster.delivery.source == Delivery::database; }

std::vector<std::string> faults_that(const Scenario& s, std::string_view field,
                                     bool (*fit)(const FaultSpec&)) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < s.faults.size(); ++i) {
    if (fit(s.faults[i])) paths.push_back(fmt::format("fault.{}.{}", i, field));
  }
  return paths;
}

bool waits_for_loss(const FaultSpec& fault) {
  const auto parsed = parse_condition(fault.when);
  const auto* condition = std::get_if<FaultCondition>(&parsed);
  using enum FaultCondition::Quantity;
  return !fault.when.empty() && condition != nullptr &&
         (condition->quantity == loss || condition->quantity == accuracy);
}

const Feature rows[] = {
    {"all-reduce",
     "architecture.kind",
     [](const Scenario& s) { return s.architecture.kind == Architecture::all_reduce; },
     {.needs = {}, .takes = servers},
     in_servers,
     "architecture.kind = \"all-reduce\""},
    {"model parallelism",
     "architecture.kind",
     [](const Scenario& s) { return s.architecture.kind == Architecture::model_parallel; },
     {.needs = {}, .takes = servers},
     in_servers,
     "architecture.kind = \"model-parallel\"\ncluster.workers = 2"},

    {"k-async on several shards",
     "consistency.model",
     groups_by_shard,
     {.needs = heard_once, .takes = {}},
     "another model, or one server with unit = \"server\" in [messages]",
     "consistency.model = \"k-async\"\nconsistency.k = 2\ncluster.servers = 2"},

    {"elastic averaging",
     "training.algorithm",
     [](const Scenario& s) { return s.training.algorithm == Algorithm::elastic; },
     {.needs = servers | every_push | whole_pushes | whole_models, .takes = gradients},
     "algorithm = \"gradient\"",
     "training.algorithm = \"elastic\""},
    {"an update on the worker",
     "training.update",
     [](const Scenario& s) { return s.training.update == UpdateAt::worker; },
     {.needs = servers | same_clock | gradients | whole_models | heard_once, .takes = server_weights},
     "update = \"server\"",
     "training.update = \"worker\""},
    {"a clock of several local steps",
     "training.local_steps",
     [](const Scenario& s) { return s.training.local_steps > 1; },
     {.needs = servers | whole_pushes, .takes = one_batch},
     "local_steps = 1",
     "training.local_steps = 2"},
    {"accumulation of several batches",
     "training.accumulate",
     [](const Scenario& s) { return s.training.accumulate > 1; },
     {.needs = servers | whole_pushes, .takes = one_batch},
     "accumulate = 1",
     "training.accumulate = 2"},
    {"warm-up",
     "training.warmup_steps",
     [](const Scenario& s) { return s.training.warmup_steps > 0; },
     {.needs = servers, .takes = {}},
     "no warmup_steps",
     "training.warmup_steps = 1"},
    {"warm-up of several steps",
     "training.warmup_steps",
     [](const Scenario& s) { return s.training.warmup_steps > 1; },
     {.needs = whole_pushes, .takes = one_batch},
     "no warmup_steps",
     "training.warmup_steps = 3"},
    {"a pull for several clocks",
     "training.pull_every",
     [](const Scenario& s) { return s.training.pull_every > 1; },
     {.needs = servers | gradients | late_pushes | whole_pushes | whole_models, .takes = {}},
     "pull_every = 1",
     "training.pull_every = 2\nconsistency.model = \"asp\""},
    {"delay compensation",
     "training.delay_compensation",
     [](const Scenario& s) { return s.training.delay_compensation > 0; },
     {.needs = servers | gradients | whole_models, .takes = {}},
     "delay_compensation = 0",
     "training.delay_compensation = 0.04"},
    {"a staleness-aware rate",
     "training.staleness_aware",
     [](const Scenario& s) { return s.training.staleness_aware; },
     {.needs = servers | gradients, .takes = {}},
     "staleness_aware = false",
     "training.staleness_aware = true"},
    {"an optimizer other than sgd",
     "training.optimizer",
     [](const Scenario& s) { return s.training.optimizer.kind != OptimizerKind::sgd; },
     {.needs = gradients, .takes = {}},
     "optimizer = \"sgd\"",
     "training.optimizer = \"adam\""},
    {"training by blocks of features",
     "training.feature_blocks",
     [](const Scenario& s) { return s.training.feature_blocks > 1; },
     {.needs = feature_weights, .takes = {}},
     "feature_blocks = 1",
     "training.optimizer = \"proximal\"\ntraining.feature_blocks = 2\nmodel.kind = \"logistic\"\n"
     "data.source = \"clicks\"\ndata.features = 100"},
    {"a loss scale",
     "training.loss_scale",
     [](const Scenario& s) { return s.training.loss_scale != 1; },
     {.needs = gradients | numbers, .takes = {}},
     "loss_scale = 1",
     "training.loss_scale = 8\nmodel.precision = \"float16\""},
    {"multi-precision",
     "training.multi_precision",
     [](const Scenario& s) { return s.training.multi_precision; },
     {.needs = numbers, .takes = {}},
     "multi_precision = false",
     "training.multi_precision = true\nmodel.precision = \"float16\""},
    {"a number of epochs",
     "training.epochs",
     [](const Scenario& s) { return s.training.epochs.has_value(); },
     {.needs = numbers, .takes = {}},
     "steps or duration in [training]",
     "training.epochs = 1"},
    {"a target",
     "training.target",
     [](const Scenario& s) { return s.training.target.given(); },
     {.needs = numbers, .takes = {}},
     "no target",
     "training.target = {loss = 0.001}"},
    {"an evaluation at intervals",
     "training.evaluate_every",
     [](const Scenario& s) { return s.training.evaluate_every.has_value(); },
     {.needs = numbers, .takes = {}},
     "no evaluate_every",
     "training.evaluate_every = \"1ms\""},
    {"proportional work",
     "training.work",
     [](const Scenario& s) { return s.training.work == WorkPolicy::proportional; },
     {.needs = servers | one_group, .takes = {}},
     static_work,
     "training.work = \"proportional\""},
    {"dynamic work",
     "training.work",
     [](const Scenario& s) { return s.training.work == WorkPolicy::dynamic; },
     {.needs = servers | one_group | same_clock | heard_once, .takes = {}},
     "work = \"static\" or \"proportional\"",
     "training.work = \"dynamic\"\ntraining.work_every = 1"},
    {"stolen work",
     "training.work",
     [](const Scenario& s) { return s.training.work == WorkPolicy::stealing; },
     {.needs = servers | one_group | whole_clocks | gradients | one_batch | whole_models | whole_pushes |
               heard_once,
      .takes = {}},
     "work = \"static\" or \"proportional\"",
     "training.work = \"stealing\""},

    {"delivery by a database",
     "data.delivery",
     has_database,
     {.needs = servers | one_group | heard_once, .takes = {}},
     "delivery = \"local\"",
     "data.delivery = \"database\"\ndata.bytes_per_sample = \"100B\""},
    {"a database that counts the samples' bytes",
     "data.delivery",
     [](const Scenario& s) { return has_database(s) && !s.cluster.delivery.bytes_per_sample; },
     {.needs = numbers, .takes = {}},
     "bytes_per_sample = \"3kB\" in [data]",
     "data.delivery = \"database\""},
    {"a dense model",
     "model.kind",
     [](const Scenario& s) { return is(s, ModelKind::mlp); },
     {.needs = {}, .takes = feature_weights},
     "kind = \"logistic\" in [model]",
     "model.kind = \"mlp\""},
    {"a sparse model",
     "model.kind",
     [](const Scenario& s) { return is(s, ModelKind::logistic); },
     {.needs = {}, .takes = whole_models},
     "kind = \"mlp\" in [model]",
     "model.kind = \"logistic\"\ndata.source = \"clicks\"\ndata.features = 100"},
    {"a phantom model",
     "model.kind",
     [](const Scenario& s) { return is(s, ModelKind::phantom); },
     {.needs = {}, .takes = numbers | feature_weights},
     "another kind in [model]",
     "model.kind = \"phantom\"\nmodel.parameters = 100"},
    {"half precision",
     "model.precision",
     [](const Scenario& s) { return is_half(s.model.precision); },
     {.needs = {}, .takes = wide_values},
     "precision = \"float32\" in [model]",
     "model.precision = \"bfloat16\""},

    {"overlap",
     "messages.overlap",
     [](const Scenario& s) { return s.messages.overlap && s.messages.unit == MessageUnit::array; },
     {.needs = servers, .takes = whole_pushes},
     "overlap = false",
     "messages.overlap = true\nmessages.unit = \"array\""},
    {"acknowledgement of pushes",
     "messages.acknowledge",
     [](const Scenario& s) { return s.messages.acknowledge; },
     {.needs = servers, .takes = {}},
     "acknowledge = false",
     "messages.acknowledge = true"},
    {"a message for a range of keys",
     "messages.keys",
     [](const Scenario& s) { return s.messages.keys == KeyFormat::range; },
     {.needs = {}, .takes = keys},
     "keys = \"per-value\" in [messages]",
     "messages.keys = \"range\""},

    {"a worker of several devices",
     "cluster.worker.device.count",
     [](const Scenario& s) { return s.cluster.worker_devices.count > 1; },
     {.needs = servers, .takes = {}},
     "count = 1",
     "cluster.worker.device.count = 2"},
    {"a platform file",
     "cluster.network.topology",
     [](const Scenario& s) { return s.cluster.network.topology == TopologyKind::simgrid_xml; },
     {.needs = {}, .takes = own_links},
     "another topology",
     "cluster.network.topology = \"simgrid-xml\"\ncluster.network.platform = \"cluster.xml\""},
    {"an inference group",
     "inference",
     [](const Scenario& s) { return s.cluster.inference.given; },
     {.needs = servers | one_group | server_weights | heard_once, .takes = {}},
     "no [inference]",
     "inference.refresh = \"2ms\"\ninference.rate = 2000"},
    {"a division into groups",
     "group",
     [](const Scenario& s) { return !s.groups.empty(); },
     {.needs = servers, .takes = one_group},
     "no [[group]]",
     "group = [{name = \"a\"}, {name = \"b\", set = [\"seed = 2\"]}]"},

    {"a fault", "fault", [](const Scenario& s) { return !s.faults.empty(); }, failures, "no [[fault]]",
     "fault = [{kind = \"crash\", nodes = [\"worker 0\"], at = \"3ms\", restart_after = \"5ms\"}]"},
    {"a link that gets slower",
     "fault",
     {},
     {.needs = own_links, .takes = {}},
     "kind = \"delay\"",
     "fault = [{kind = \"degrade\", nodes = [\"worker 0\"], factor = 0.5, at = \"1ms\"}]",
     {},
     [](const Scenario& s) {
       return faults_that(s, "kind", [](const FaultSpec& f) { return f.kind == FaultKind::degrade; });
     }},
    {"a fault that waits for the loss",
     "fault",
     {},
     {.needs = numbers, .takes = {}},
     "a condition such as when = \"updates >= 200\"",
     "fault = [{kind = \"slow\", nodes = [\"worker 1\"], factor = 0.5, when = \"loss < 100\"}]",
     {},
     [](const Scenario& s) { return faults_that(s, "when", waits_for_loss); }},
    {"recovery", "recovery.enabled", [](const Scenario& s) { return s.recovery.enabled; }, failures,
     "enabled = false", "recovery.enabled = true"},
    {"replication", "replication.copies", [](const Scenario& s) { return s.replication.copies > 0; },
     failures, "copies = 0", "replication.copies = 1\ncluster.servers = 2"},
    {"a snapshot", "snapshot.every", [](const Scenario& s) { return s.snapshot.every.has_value(); }, failures,
     "no `every` in [snapshot]", "snapshot.every = \"2 updates\""},
};

}  // namespace

std::span<const Feature> feature_rows() { return rows; }

}  // namespace psim
