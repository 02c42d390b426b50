#include "sim/scenario/spec/features.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/faults.hpp"

namespace psim {
namespace {

using enum Property;

constexpr PropertyRow property_rows[] = {
    {servers, "parameter servers", "Servers hold the model; workers push to them and pull from them."},
    {one_group, "a single group of workers", "All workers train one model."},
    {arrives_once, "messages that arrive exactly once",
     "No node fails, no message is lost, and no message is sent again."},
    {same_clock, "all workers in the same clock",
     "A worker starts a clock only when all pushes of the previous clock have been applied."},
    {late_pushes, "late pushes that count",
     "A push counts even if the weights have changed since its worker's pull."},
    {counts_alone, "updates from one push, or from all pushes of a clock",
     "An update has one push, or all pushes of a clock."},
    {gradients, "pushes of gradients", "A worker pushes the gradient at the weights that it pulled."},
    {whole_pushes, "pushes at the end of each clock",
     "A worker pushes when it has finished the computation of its clock."},
    {one_batch, "one batch in a clock", "A worker computes the gradient of one batch in a clock."},
    {pulled_weights, "clocks computed on pulled weights",
     "A worker computes a whole clock on pulled weights, which other workers can also have."},
    {own_clocks, "workers that begin their clocks themselves",
     "A worker begins its next clock itself; the scheduler does not assign steps."},
    {whole_steps, "steps that are never cancelled", "A worker finishes every step that it begins."},
    {all_weights, "all weights in every step",
     "A step uses all weights, not only the weights of its batch's features."},
    {server_weights, "weights on the servers", "Servers run the optimizer, so they hold the weights."},
    {real_data, "real weights and data",
     "The model has weights and learns from data. A phantom model only takes time."},
    {feature_weights, "one weight per sparse feature", "Each weight belongs to a feature of sparse data."},
    {keys, "a key with every value", "A message lists the key of every value."},
    {wide_values, "values of more than 2 bytes", "Weights and gradients are in single or double precision."},
    {own_links, "a separate link for each node",
     "Each node has one link to the network, which it shares with no other node."},
    {whole_copies, "a copy of the whole model in every worker",
     "Each worker holds all weights and the optimizer state, so it can continue alone."},
    {counted_batches, "a known number of batches in a clock",
     "The number of batches of a worker's clock does not depend on its speed."},
    {open_clocks, "clocks without a fixed number of steps",
     "The scenario does not give the number of steps of a clock (local_steps), so a duration can determine "
     "it."},
    {regular_pulls, "a pull before every clock", "A worker pulls all weights before it begins a clock."},
    {plain_values, "messages without filters",
     "No filter makes messages smaller, so a sum of pushes has the size of one push."},
    {at_once, "messages that are sent in parallel",
     "A node sends a message at once, even if other messages of the connection are on their way."},
    {one_push, "one push per worker and clock", "A worker sends each shard one push in a clock."},
    {sums_of_pushes, "updates that are sums of pushes", "An update needs only the sum of its pushes."},
    {own_batches, "separate batches for each worker",
     "Each worker computes gradients of the whole model, on its own samples."},
    {peers, "workers that hold the model", "There are no servers: only workers hold weights."},
    {fewer_workers, "training that continues without lost workers",
     "When a worker is lost, the other workers continue without it."},
    {own_hosts, "a machine for each node", "Each machine runs one node only."},
    {hosts_of_psim, "machines that psim assigns", "psim decides which node runs on which machine."},
    {server_steps, "pushes that are not optimizer steps",
     "A push contains gradients, not a step of the worker's optimizer."},
    {one_scheduler, "a scheduler that stays up",
     "The scheduler does not crash, so it does not lose its newest view."},
    {held_samples, "samples that workers hold", "A worker holds and keeps the samples on which it trains."},
    {whole_arrays, "whole arrays on a server",
     "A server that has a part of an array has all of it, and the optimizer's state for it."},
    {dense_gradients, "gradients of all weights", "A gradient of a batch has a value for every weight."},
};

// The demands of a consistency model, derived from its rule.
Demands of_model(const Scenario& s) {
  ConsistencySpec spec = s.consistency;
  spec.window = spec.deadline = spec.grace = std::nullopt;  // features of their own
  spec.deadline_mad.reset();
  const ConsistencyRule rule = make_rule(spec, s.cluster.workers);
  Demands result{.needs = servers, .takes = {}};
  if (!rule.waits_for_all()) result.takes = result.takes | same_clock;
  if (rule.drops_stale) result.takes = result.takes | late_pushes;
  if (rule.cancel) result.takes = result.takes | whole_steps;
  const bool in_turn = rule.asks_all ? rule.policy->shape().is_in_turn : rule.group == 1;
  if (!rule.waits_for_all() && (!in_turn || rule.drops_stale)) result.takes = result.takes | counts_alone;
  if (rule.drops_stale && s.consistency.model->has_k())
    result.needs = result.needs | whole_pushes;  // servers apply or drop a step as a whole
  // A task is a step of one batch, and the scheduler assigns it only once.
  if (s.consistency.model->has_tasks()) {
    result.takes = result.takes | own_clocks;
    result.needs = result.needs | one_group | arrives_once | whole_pushes | one_batch | gradients |
                   all_weights | server_weights;
  }
  return result;
}

constexpr std::string_view example_program =
    "\ntask = [{name = \"pull\", do = \"pull\", after = [\"update[-1]\"]}, {name = \"gradient\", do = "
    "\"gradient\", after = [\"pull\"]}, {name = \"push\", do = \"push\", after = [\"gradient\"]}, {name = "
    "\"update\", do = \"update\", after = [\"push\"]}]";

// For a cluster of several servers and more workers than k.
Feature feature_of(const ConsistencyRow& row) {
  Scenario s;
  s.consistency.model = row.name;
  s.cluster.servers = 2;
  if (row.has_k()) s.consistency.k = 2;
  if (row.is_custom()) s.consistency.custom.update = "pushes >= k";
  const auto places = [name = row.name](const Scenario& x) -> std::vector<std::string> {
    if (x.consistency.model->name != name || !x.architecture.has_servers()) return {};
    return {"consistency.model"};
  };
  return {.name = row.name,
          .example = fmt::format("consistency.model = \"{}\"{}{}{}", row.name,
                                 row.has_k() ? "\nconsistency.k = 2" : "",
                                 row.is_custom() ? "\nconsistency.update = \"pushes >= k\"" : "",
                                 row.has_tasks() ? example_program : ""),
          .instead = "another model in [consistency]",
          .demands = of_model(s),
          .places = places,
          .by = of_model};
}

Feature feature_of(const FilterRow& row) {
  const bool caches = row.stage == FilterStage::keys;
  Properties needs = own_batches;  // filters process gradients of the whole model
  if (row.needs_numbers) needs = needs | real_data;
  if (caches) needs = needs | keys;
  if (row.needs_weights) needs = needs | gradients | server_steps;
  if (row.is_half) needs = needs | wide_values;  // otherwise the filter has no effect
  std::string settings;
  for (const Setting* setting : row.settings) {
    if (setting->required) settings += fmt::format(", {} = {}", setting->key, setting->draws.front());
  }
  const auto places = [name = row.name](const Scenario& s) {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < s.filters.size(); ++i) {
      if (s.filters[i].kind->name == name) paths.push_back(fmt::format("filter.{}.kind", i));
    }
    return paths;
  };
  return {.name = row.name,
          .example = fmt::format("filter = [{{kind = \"{}\"{}}}]{}", row.name, settings,
                                 caches ? "\nmessages.keys = \"per-value\"" : ""),
          .instead = "no [[filter]] of this kind",
          .demands = {.needs = needs, .takes = plain_values},
          .places = places};
}

}  // namespace

std::span<const PropertyRow> properties() { return property_rows; }

std::span<const Feature> features() {
  static const std::vector<Feature> all = [] {
    std::vector<Feature> result;
    for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) result.push_back(feature_of(row));
    result.insert(result.end(), feature_rows().begin(), feature_rows().end());
    for (const FilterRow& row : all_rows<FilterRow>()) result.push_back(feature_of(row));
    return result;
  }();
  return all;
}

bool exclude(const Feature& a, const Feature& b) {
  return !((a.demands.needs & b.demands.takes) | (b.demands.needs & a.demands.takes)).empty();
}

std::string in_words(Properties some) {
  std::vector<std::string_view> names;
  for (const PropertyRow& row : property_rows) {
    if (some.has(row.property)) names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, "; "));
}

bool is_of_group(std::string_view field) {
  constexpr std::string_view of_machines[] = {"data.delivery", "data.prefetch", "data.bytes_per_sample",
                                              "messages.order"};
  // A name that ends with a dot means all fields below it.
  constexpr std::string_view own[] = {
      "seed",     "compute.time", "filter",      "filter.",      "data.",     "model",      "model.",
      "training", "training.",    "consistency", "consistency.", "placement", "placement.", "messages."};
  if (std::ranges::find(of_machines, field) != std::end(of_machines)) return false;
  return std::ranges::any_of(own, [field](std::string_view one) {
    return one.ends_with('.') ? field.starts_with(one) : field == one;
  });
}

// The table of features: the fields that switch each feature on, and the properties that it needs and takes
// away.

namespace {

constexpr std::string_view in_servers = "kind = \"parameter-server\" in [architecture]",
                           static_work = "work = \"static\"";

// With failures, and with their handling, nodes repeat messages that may be lost.
constexpr Demands failures{.takes = arrives_once};

// An update at a fixed time happens without some pushes: they come too late, or wait for the next update.
constexpr Demands by_date{.needs = servers | whole_pushes | own_clocks, .takes = same_clock | counts_alone};

// Whether the first shard decides for all shards which pushes make an update.
bool groups_by_shard(const Scenario& s) {
  const bool decides = s.consistency.model->group != Group::one &&
                       make_rule(s.consistency, s.cluster.workers).gate == Gate::own;
  return decides && (s.cluster.servers > 1 || s.messages.unit != MessageUnit::server);
}

bool has_database(const Scenario& s) { return s.cluster.delivery.source == Delivery::database; }

bool waits_for_loss(const FaultSpec& fault) {
  const auto parsed = parse_condition(fault.when);
  const auto* condition = std::get_if<FaultCondition>(&parsed);
  using enum FaultCondition::Quantity;
  return !fault.when.empty() && condition != nullptr &&
         (condition->quantity == loss || condition->quantity == accuracy);
}

// A feature that the first field of its example switches on, if `on` holds for the scenario.
Feature row(std::string_view name, std::string_view example, std::string_view instead, Demands demands,
            bool (*on)(const Scenario&)) {
  const auto places = [on, field = std::string(example.substr(0, example.find(' ')))](const Scenario& s) {
    return on(s) ? std::vector{field} : std::vector<std::string>{};
  };
  return {name, std::string(example), instead, demands, places};
}

// A feature that `field` of the faults switches on for which `fits` holds.
Feature row(std::string_view name, std::string_view example, std::string_view instead, Demands demands,
            std::string_view field, bool (*fits)(const FaultSpec&)) {
  const auto places = [field, fits](const Scenario& s) {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < s.faults.size(); ++i) {
      if (fits(s.faults[i])) paths.push_back(fmt::format("fault.{}.{}", i, field));
    }
    return paths;
  };
  return {name, std::string(example), instead, demands, places};
}

Feature row(std::string_view name, std::string_view example, std::string_view instead, Demands demands,
            std::vector<std::string> (*places)(const Scenario&)) {
  return {name, std::string(example), instead, demands, places};
}

std::vector<std::string> places_of_whole_arrays(const Scenario& s) {
  std::vector<std::string> paths;
  const TrainingSpec& t = s.training;
  if (t.optimizer.kind->whole_arrays)
    paths.emplace_back(t.inner.given ? "training.inner.optimizer" : "training.optimizer");
  if (t.outer.optimizer.kind->whole_arrays) paths.emplace_back("training.outer.optimizer");
  return paths;
}

std::vector<std::string> places_of_local_steps(const Scenario& s) {
  if (s.training.local_steps == 1) return {};
  return {s.training.inner.given ? "training.inner.steps" : "training.local_steps"};
}

std::vector<std::string> places_of_fragments(const Scenario& s) {
  if (s.training.outer.fragments == 1) return {};
  return {"training.outer.fragments"};
}

std::vector<std::string> places_of_dynamic_steps(const Scenario& s) {
  if (!s.training.inner.dynamic) return {};
  return {"training.inner.dynamic"};
}

std::vector<std::string> filters_of_pulls(const Scenario& s) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < s.filters.size(); ++i) {
    if (s.filters[i].direction() == FilterOn::pull) paths.push_back(fmt::format("filter.{}.on", i));
  }
  return paths;
}

std::vector<std::string> filters_of_differences(const Scenario& s) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < s.filters.size(); ++i) {
    if (s.filters[i].sends_differences()) paths.push_back(fmt::format("filter.{}.memory", i));
  }
  return paths;
}

bool stops_scheduler(const FaultSpec& fault) {
  const auto is_it = [](const std::string& name) { return name == "scheduler" || name == "all"; };
  return fault.kind->crashes && std::ranges::any_of(fault.nodes, is_it);
}

// Whether a worker may be lost without servers, and recovery.workers is `what`.
bool loses_worker(const Scenario& s, LostWorkers what) {
  return !s.architecture.has_servers() && s.may_fail() && s.recovery.workers == what;
}

// If every worker waits for every update, servers send the sum of its gradients, and do not hold the weights.
// Otherwise workers push the steps of their optimizers, and servers hold the weights.
template <bool of_sums>
bool updates_on_worker(const Scenario& s) {
  return s.training.update == UpdateAt::worker &&
         make_rule(s.consistency, s.cluster.workers).waits_for_all() == of_sums;
}

const Feature feature_table[] = {
    row("the parameter-server architecture", "architecture.kind = \"parameter-server\"",
        "kind = \"all-reduce\" in [architecture]",
        {.takes = whole_copies | peers}, [](const Scenario& s) { return s.architecture.has_servers(); }),
    row("all-reduce", "architecture.kind = \"all-reduce\"", in_servers, {.takes = servers | keys},
        [](const Scenario& s) { return s.architecture.kind == Architecture::all_reduce; }),
    row("model parallelism", "architecture.kind = \"model-parallel\"\ncluster.workers = 2", in_servers,
        {.needs = all_weights, .takes = servers | keys | whole_copies | own_batches | fewer_workers},
        [](const Scenario& s) { return s.architecture.kind == Architecture::model_parallel; }),
    row("a pipeline over the devices of one machine",
        "architecture.over = \"devices\"\narchitecture.kind = \"model-parallel\"\n"
        "cluster.worker.device.count = 2\ncluster.workers = 1",
        "over = \"nodes\" in [architecture]", {.needs = all_weights | arrives_once | own_links},
        [](const Scenario& s) { return s.architecture.is_on_one_machine(); }),
    row("k-async on several shards",
        "consistency.model = \"k-async\"\nconsistency.k = 2\ncluster.servers = 2",
        "another model, or one server with unit = \"server\" in [messages]", {}, groups_by_shard),
    row("elastic averaging", "training.algorithm = \"elastic\"", "algorithm = \"gradient\"",
        {.needs = servers | counts_alone | whole_pushes | all_weights | whole_steps, .takes = gradients},
        [](const Scenario& s) { return s.training.algorithm == Algorithm::elastic; }),
    row("an optimizer on the workers", "training.update = \"worker\"", "update = \"server\"",
        {.needs = servers | gradients | all_weights | own_clocks},
        [](const Scenario& s) { return s.training.update == UpdateAt::worker; }),
    row("updates by workers from summed gradients",
        "training.update = \"worker\"\nconsistency.model = \"bsp\"",
        "update = \"server\"", {.takes = server_weights | whole_arrays}, updates_on_worker<true>),
    row("pushes of optimizer steps", "training.update = \"worker\"\nconsistency.model = \"asp\"",
        "update = \"server\"", {.takes = server_steps}, updates_on_worker<false>),
    row("an optimizer of whole arrays", "training.inner.optimizer = \"lamb\"", "another optimizer",
        {.needs = dense_gradients}, places_of_whole_arrays),
    row("an optimizer of whole arrays on servers",
        "training.outer.optimizer = \"lars\"\nplacement.kind = \"greedy\"", "another optimizer",
        {.needs = servers | whole_arrays | all_weights},
        [](const Scenario& s) {
          return s.architecture.has_servers() && s.training.common_optimizer().kind->whole_arrays;
        }),
    row("a clock of several local steps", "training.local_steps = 2", "local_steps = 1",
        {.needs = own_batches, .takes = one_batch | pulled_weights | open_clocks | server_steps},
        places_of_local_steps),
    row("an optimizer for local steps alone", "training.inner = {optimizer = \"adamw\"}",
        "no [training.inner]",
        {.needs = gradients | own_batches, .takes = one_batch | pulled_weights | server_steps},
        [](const Scenario& s) { return s.training.inner.given; }),
    row("fewer local steps of slower workers", "training.inner = {dynamic = true, steps = 3}",
        "dynamic = false in [training.inner]",
        {.needs = servers | whole_pushes | all_weights | own_clocks, .takes = counted_batches},
        places_of_dynamic_steps),
    row("an optimizer for the moves of workers", "training.outer = {optimizer = \"nesterov\"}",
        "no [training.outer]",
        {.needs = gradients | own_batches | server_weights,
         .takes = one_batch | pulled_weights | server_steps},
        [](const Scenario& s) { return s.training.outer.given; }),
    row("fragments that take turns",
        "training.outer = {fragments = 4}\ntraining.inner = {steps = 4}",
        "fragments = 1 in [training.outer]",
        {.needs = servers | counts_alone | whole_pushes | whole_steps | own_clocks | counted_batches |
                  real_data | arrives_once | one_group | dense_gradients,
         .takes = all_weights | regular_pulls | keys},
        places_of_fragments),
    row("a clock of fixed duration", "training.local_time = \"3ms\"", "no local_time",
        {.needs = servers | whole_pushes | all_weights | open_clocks | own_clocks,
         .takes = one_batch | counted_batches | server_steps},
        [](const Scenario& s) { return s.training.local_time.has_value(); }),
    row("batches that fit into a time", "training.accumulate = 3\ntraining.accumulate_time = \"3ms\"",
        "no accumulate_time",
        {.needs = servers | whole_pushes | all_weights | open_clocks | own_clocks,
         .takes = one_batch | counted_batches},
        [](const Scenario& s) { return s.training.accumulate_time.has_value(); }),
    row("computations that are given up", "training.give_up = \"6500us\"", "no give_up",
        {.needs = servers | whole_pushes | own_clocks | all_weights, .takes = whole_steps},
        [](const Scenario& s) { return s.training.give_up.has_value(); }),
    row("accumulation of several batches", "training.accumulate = 2", "accumulate = 1",
        {.needs = own_batches, .takes = one_batch},
        [](const Scenario& s) { return s.training.accumulate > 1; }),
    row("warm-up", "training.warmup_steps = 3", "no warmup_steps",
        {.needs = own_batches, .takes = one_batch | pulled_weights | server_steps},
        [](const Scenario& s) { return s.training.warmup_steps > 1; }),
    row("warm-up before the servers are up",
        "training.warmup = \"before-servers\"\ntraining.warmup_steps = 3",
        "warmup = \"after-pull\"",
        {.needs = servers | gradients | all_weights | whole_pushes | own_clocks, .takes = one_batch},
        [](const Scenario& s) {
          return s.training.warmup == Warmup::before_servers && s.training.warmup_steps > 0;
        }),
    row("a start-up time", "cluster.worker.startup = \"4ms\"", "no startup", {},
        [](const Scenario& s) { return s.cluster.worker.startup.given(); }),
    row("a start-up time of servers", "cluster.server.startup = \"3ms\"", "no startup in [cluster.server]",
        {.needs = servers},
        [](const Scenario& s) {
          return s.architecture.has_servers() && s.cluster.server.startup.given();
        }),
    row("a search for slow workers", "recovery.slow = {factor = 1.5, window = 2, action = \"remove\"}",
        "no [recovery.slow]", {.needs = servers | one_group | own_clocks, .takes = arrives_once},
        [](const Scenario& s) { return s.recovery.slow.given; }),
    row("one pull for several clocks", "training.pull_every = 2\nconsistency.model = \"asp\"",
        "pull_every = 1",
        {.needs = servers | gradients | late_pushes | whole_pushes | all_weights | own_clocks | whole_steps,
         .takes = same_clock | regular_pulls | pulled_weights},
        [](const Scenario& s) { return s.training.pull_every > 1; }),
    row("a cache of weights", "consistency.cache = true\nconsistency.model = \"ssp\"", "cache = false",
        {.needs = servers | gradients | all_weights | regular_pulls | own_clocks, .takes = same_clock},
        [](const Scenario& s) { return s.consistency.cache; }),
    row("a separate staleness bound for a layer",
        "consistency.array = [{layer = 0, staleness = 1}]\nconsistency.model = \"ssp\"\n"
        "messages.unit = \"array\"",
        "no [[consistency.array]]", {.needs = servers, .takes = same_clock},
        [](const Scenario& s) { return !s.consistency.arrays.empty(); }),
    row("a window for updates", "consistency.window = \"1ms\"\nconsistency.model = \"bsp\"", "no window",
        by_date, [](const Scenario& s) { return s.consistency.window.has_value(); }),
    row("a deadline for updates", "consistency.deadline = \"5ms\"\nconsistency.model = \"bsp\"",
        "no deadline",
        by_date, [](const Scenario& s) { return s.consistency.deadline.has_value(); }),
    row("an adaptive deadline for updates", "consistency.deadline_mad = 3.0\nconsistency.model = \"bsp\"",
        "no deadline_mad",
        by_date, [](const Scenario& s) { return s.consistency.deadline_mad.has_value(); }),
    row("a grace for updates",
        "consistency.grace = \"1ms\"\nconsistency.model = \"k-sync\"\nconsistency.k = 2", "no grace",
        by_date, [](const Scenario& s) { return s.consistency.grace.has_value(); }),
    row("a weight by samples or seconds",
        "consistency.weight = \"samples / seconds\"\nconsistency.model = \"custom\"\n"
        "consistency.update = \"pushes >= 2\"",
        "weight = \"1\"", {.needs = servers | whole_pushes | own_clocks},
        [](const Scenario& s) {
          return s.consistency.model->is_custom() && CustomModel::weighs_work(s.consistency.custom);
        }),
    row("a limit on staleness", "consistency.max_staleness = 2\nconsistency.model = \"asp\"",
        "no max_staleness", {.needs = servers | gradients | late_pushes | own_clocks, .takes = same_clock},
        [](const Scenario& s) { return s.consistency.max_staleness.has_value(); }),
    row("a stop of steps that get too old",
        "consistency.late = \"cancel\"\nconsistency.model = \"asp\"\nconsistency.max_staleness = 2",
        "late = \"drop\"", {.takes = whole_steps},
        [](const Scenario& s) {
          return s.consistency.late == Late::cancel && s.consistency.max_staleness.has_value();
        }),
    row("one age for all shards",
        "consistency.age = \"gradient\"\nconsistency.model = \"asp\"\nconsistency.max_staleness = 2",
        "age = \"shard\"", {.needs = servers},
        [](const Scenario& s) { return s.consistency.age == AgeOf::gradient; }),
    row("an aggregation that needs separate gradients", "consistency.aggregation = \"median\"",
        "aggregation = \"mean\" in [consistency]",
        {.needs = servers | gradients | all_weights, .takes = sums_of_pushes},
        [](const Scenario& s) {
          return s.architecture.has_servers() && static_cast<bool>(s.consistency.aggregation.row->combine);
        }),
    row("an aggregation that keeps gradients", "consistency.aggregation = \"last\"",
        "aggregation = \"mean\" in [consistency]", {.needs = server_steps},
        [](const Scenario& s) {
          return s.architecture.has_servers() && s.consistency.aggregation.row->keeps;
        }),
    row("delay compensation", "training.delay_compensation = 0.04", "delay_compensation = 0",
        {.needs = servers | gradients | all_weights | own_clocks | server_steps},
        [](const Scenario& s) { return s.training.delay_compensation > 0; }),
    row("a staleness-aware learning rate", "training.staleness_aware = true", "staleness_aware = false",
        {.needs = servers | gradients}, [](const Scenario& s) { return s.training.staleness_aware; }),
    row("an elastic net of sparse features",
        "training.optimizer = \"proximal\"\nmodel.kind = \"logistic\"\ndata.source = \"clicks\"\n"
        "data.features = 100",
        "optimizer = \"sgd\"", {.needs = gradients | server_steps},
        [](const Scenario& s) {
          return s.training.optimizer.kind->elastic_net && s.model.kind->is_sparse;
        }),
    row("training by blocks of features",
        "training.feature_blocks = 2\ntraining.optimizer = \"proximal\"\nmodel.kind = \"logistic\"\n"
        "data.source = \"clicks\"\ndata.features = 100",
        "feature_blocks = 1", {.needs = servers | feature_weights},
        [](const Scenario& s) { return s.training.feature_blocks > 1; }),
    row("a loss scale", "training.loss_scale = 8\nmodel.precision = \"float16\"", "loss_scale = 1",
        {.needs = gradients | real_data}, [](const Scenario& s) { return s.training.loss_scale != 1; }),
    row("multi-precision", "training.multi_precision = true\nmodel.precision = \"float16\"",
        "multi_precision = false", {.needs = real_data},
        [](const Scenario& s) { return s.training.multi_precision; }),
    row("an end after a number of epochs", "training.epochs = 1", "steps, samples or duration in [training]",
        {.needs = real_data},
        [](const Scenario& s) { return s.training.epochs.has_value(); }),
    row("a target", "training.target = {loss = 0.001}", "no target", {.needs = real_data},
        [](const Scenario& s) { return s.training.target.given(); }),
    row("a validation set", "data.validation_fraction = 0.2", "no validation_fraction in [data]",
        {.needs = real_data}, [](const Scenario& s) { return s.data.validation_fraction > 0; }),
    row("an evaluation at intervals", "training.evaluate_every = \"1ms\"", "no evaluate_every",
        {.needs = real_data}, [](const Scenario& s) { return s.training.evaluate_every.has_value(); }),
    row("proportional work", "training.work = \"proportional\"", static_work,
        {.needs = own_batches | own_clocks},
        [](const Scenario& s) { return s.training.work == WorkPolicy::proportional; }),
    row("dynamic work", "training.work = \"dynamic\"\ntraining.work_every = 1", static_work,
        {.needs = own_batches | counted_batches | own_clocks},
        [](const Scenario& s) { return s.training.work == WorkPolicy::dynamic; }),
    row("dynamic work without servers",
        "training.work = \"dynamic\"\ntraining.work_every = 1\narchitecture.kind = \"all-reduce\"",
        static_work,
        {.needs = arrives_once},
        [](const Scenario& s) {
          return s.training.work == WorkPolicy::dynamic && !s.architecture.has_servers();
        }),
    row("work stealing", "training.work = \"stealing\"", static_work,
        {.needs = servers | one_group | own_clocks | gradients | pulled_weights | whole_steps | whole_pushes |
                  counted_batches | own_hosts,
         .takes = one_push},
        [](const Scenario& s) { return s.training.work == WorkPolicy::stealing; }),
    row("delivery by a database", "data.delivery = \"database\"\ndata.bytes_per_sample = \"100B\"",
        "delivery = \"local\"", {.needs = own_batches | counted_batches | own_clocks, .takes = held_samples},
        has_database),
    row("a database without servers",
        "data.delivery = \"database\"\ndata.bytes_per_sample = \"100B\"\narchitecture.kind = \"all-reduce\"",
        "delivery = \"local\"", {.needs = arrives_once},
        [](const Scenario& s) { return has_database(s) && !s.architecture.has_servers(); }),
    row("a database without bytes_per_sample", "data.delivery = \"database\"",
        "bytes_per_sample = \"3kB\" in [data]", {.needs = real_data},
        [](const Scenario& s) { return has_database(s) && !s.cluster.delivery.bytes_per_sample; }),
    row("a dense model", "model.kind = \"mlp\"",
        "kind = \"logistic\" in [model] and source = \"clicks\" in [data]", {.takes = feature_weights},
        [](const Scenario& s) { return s.model.kind->has_numbers && !s.model.kind->is_sparse; }),
    row("a sparse model", "model.kind = \"logistic\"\ndata.source = \"clicks\"\ndata.features = 100",
        "kind = \"mlp\" in [model] and source = \"blobs\" in [data]", {.takes = all_weights | dense_gradients},
        [](const Scenario& s) { return s.model.kind->is_sparse; }),
    row("a phantom model", "model.kind = \"phantom\"\nmodel.parameters = 100", "another kind in [model]",
        {.takes = real_data | feature_weights}, [](const Scenario& s) { return !s.model.kind->has_numbers; }),
    row("half precision", "model.precision = \"bfloat16\"", "precision = \"float32\" in [model]",
        {.takes = wide_values}, [](const Scenario& s) { return is_half(s.model.precision); }),
    row("overlap", "messages.overlap = true\nmessages.unit = \"array\"", "overlap = false",
        {.needs = own_batches | whole_steps, .takes = whole_pushes},
        [](const Scenario& s) { return s.messages.overlap && s.messages.unit == MessageUnit::array; }),
    row("acknowledgement of pushes", "messages.acknowledge = true", "acknowledge = false", {.needs = servers},
        [](const Scenario& s) { return s.messages.acknowledge; }),
    row("a filter on pulls", "filter = [{kind = \"fp16\", on = \"pull\"}]", "on = \"push\"",
        {.needs = servers},
        filters_of_pulls),
    row("a filter that sends differences",
        "filter = [{kind = \"top-k\", fraction = 0.25, memory = \"difference\"}]", "memory = \"residual\"",
        {.needs = servers | arrives_once | dense_gradients | all_weights | real_data},
        filters_of_differences),
    row("a message for each key range", "messages.unit = \"range\"",
        "unit = \"server\" or \"array\" in [messages]",
        {.needs = servers}, [](const Scenario& s) { return s.messages.unit == MessageUnit::range; }),
    row("a message format without keys", "messages.keys = \"range\"", "keys = \"per-value\" in [messages]",
        {.takes = keys}, [](const Scenario& s) { return s.messages.keys == KeyFormat::range; }),
    row("a worker with several devices", "cluster.worker.device.count = 2",
        "count = 1 (or over = \"devices\" in [architecture]: each device is a stage)", {.needs = own_batches},
        [](const Scenario& s) {
          return s.cluster.worker_devices.count > 1 && !s.architecture.is_on_one_machine();
        }),
    row("an optimizer on the devices",
        "cluster.worker.device.update = \"device\"\ncluster.worker.device.count = 2\n"
        "training.update = \"worker\"",
        "update = \"host\" in [cluster.worker.device]", {.needs = servers}, updates_on_devices),
    row("recomputation of activations", "training.recompute = true", "recompute = false",
        {.needs = all_weights},
        [](const Scenario& s) { return s.training.recompute; }),
    row("a queue of messages on each connection", "messages.order = \"fifo\"",
        "order = \"parallel\" in [messages]",
        {.takes = at_once}, [](const Scenario& s) { return s.messages.order != SendOrder::parallel; }),
    row("summing pushes in the network",
        "cluster.network.aggregate = \"rack\"\ncluster.network.topology = \"two-tier\"",
        "aggregate = \"servers\"",
        {.needs = servers | one_group | same_clock | gradients | all_weights | arrives_once | plain_values |
                  at_once | one_push | own_hosts | sums_of_pushes},
        [](const Scenario& s) {
          return s.cluster.network.topology == TopologyKind::two_tier &&
                 s.cluster.network.aggregate != AggregateAt::servers;
        }),
    row("running servers on the workers' machines", "cluster.colocate = true", "colocate = false",
        {.needs = servers | hosts_of_psim, .takes = own_hosts},
        [](const Scenario& s) { return s.cluster.colocate; }),
    row("a platform file",
        "cluster.network.topology = \"simgrid-xml\"\ncluster.network.platform = \"cluster.xml\"",
        "another topology", {.takes = own_links | hosts_of_psim},
        [](const Scenario& s) { return s.cluster.network.topology == TopologyKind::simgrid_xml; }),
    row("a network model with queues", "cluster.network.model = \"nic\"",
        "model = \"fluid\" in [cluster.network]", {},
        [](const Scenario& s) { return s.cluster.network.model == NetworkModel::nic; }),
    row("a cost of sending and receiving messages", "cluster.network.endpoint = {send_overhead = \"20us\"}",
        "no [cluster.network.endpoint]", {},
        [](const Scenario& s) {
          const EndpointSpec& e = s.cluster.network.endpoint;
          return e.send_overhead.value > 0 || e.receive_overhead.value > 0 || e.send_bandwidth ||
                 e.receive_bandwidth;
        }),
    row("an inference group", "inference = {refresh = \"2ms\", rate = 2000}", "no [inference]",
        {.needs = servers | server_weights},
        [](const Scenario& s) { return s.cluster.inference.given; }),
    row("a cluster of several groups", "group = [{name = \"a\"}, {name = \"b\", set = [\"seed = 2\"]}]",
        "no [[group]]", {.needs = servers, .takes = one_group},
        [](const Scenario& s) { return !s.groups.empty(); }),
    row("a fault",
        "fault = [{kind = \"crash\", nodes = [\"worker 0\"], at = \"3ms\", restart_after = \"5ms\"}]",
        "no [[fault]]", failures, [](const Scenario& s) { return !s.faults.empty(); }),
    row("a node that leaves", "fault = [{kind = \"leave\", nodes = [\"worker 0\"], at = \"3ms\"}]",
        "kind = \"crash\"", {.needs = fewer_workers}, "kind",
        [](const FaultSpec& f) { return f.kind->leaves; }),
    row("waiting for lost workers",
        "architecture.kind = \"all-reduce\"\nrecovery.workers = \"wait\"\nrecovery.enabled = true",
        "workers = \"remove\" in [recovery]", {.takes = fewer_workers},
        [](const Scenario& s) { return loses_worker(s, LostWorkers::wait); }),
    row("removal of lost workers",
        "architecture.kind = \"all-reduce\"\nrecovery.workers = \"remove\"\nrecovery.enabled = true",
        "workers = \"wait\" in [recovery]", {.needs = whole_copies},
        [](const Scenario& s) { return loses_worker(s, LostWorkers::remove); }),
    row("a restart of all workers",
        "recovery.workers = \"restart\"\nrecovery.enabled = true\narchitecture.kind = \"all-reduce\"",
        "workers = \"wait\" or \"remove\" in [recovery]", {.needs = peers, .takes = fewer_workers},
        [](const Scenario& s) { return s.may_fail() && s.recovery.workers == LostWorkers::restart; }),
    row("sending samples to workers", "recovery.data_from = \"database\"\nrecovery.enabled = true",
        "data_from = \"local\" in [recovery]", {.needs = servers | one_group | real_data | held_samples},
        [](const Scenario& s) { return s.moves_data(); }),
    row("reassigning the samples of lost workers",
        "recovery.lost_data = \"reassign\"\nrecovery.enabled = true",
        "lost_data = \"drop\" in [recovery]", {.needs = fewer_workers},
        [](const Scenario& s) { return s.may_fail() && s.recovery.data == LostData::reassign; }),
    row("a fault that slows a link",
        "fault = [{kind = \"degrade\", nodes = [\"worker 0\"], factor = 0.5, at = \"1ms\"}]",
        "kind = \"delay\"", {.needs = own_links}, "kind",
        [](const FaultSpec& f) { return f.kind->degrades; }),
    row("a fault that corrupts pushes",
        "fault = [{kind = \"corrupt\", nodes = [\"worker 0\"], at = \"1ms\"}]", "another kind of fault",
        {.needs = own_batches | real_data}, "kind", [](const FaultSpec& f) { return f.kind->corrupts; }),
    row("a fault that copies pushes",
        "fault = [{kind = \"corrupt\", nodes = [\"worker 0\"], at = \"1ms\", how = \"copy\", of = \"worker 1\"}]",
        "how = \"sign\"", {.needs = all_weights | one_group}, "how",
        [](const FaultSpec& f) { return f.kind->corrupts && f.how == Corruption::copy; }),
    row("a link that changes over time", "profile = [{of = \"bandwidth\", file = \"links.csv\"}]",
        "no [[profile]] of bandwidth", {.needs = own_links},
        [](const Scenario& s) {
          return std::ranges::any_of(
              s.profiles, [](const ProfileSpec& p) { return p.of == ProfileOf::bandwidth; });
        }),
    row("measured step times",
        "compute.distribution = \"trace\"\ncompute.trace = \"steps.csv\"\ncompute.trace_unit = \"seconds\"\n"
        "compute.trace_workers = \"draw\"\ncompute.trace_resample = \"blocks of 3 steps\"",
        "another distribution", {},
        [](const Scenario& s) {
          return std::ranges::any_of(s.compute.factors(),
                                     [](const FactorSpec* f) { return f->distribution->reads_trace; });
        }),
    row("an effect on the time of steps",
        "compute.effect = [{distribution = \"ar1\", cv = 0.3, shared = true}, {distribution = \"markov\", "
        "workers = [0]}]",
        "no [[compute.effect]]", {}, [](const Scenario& s) { return !s.compute.effects.empty(); }),
    row("a fault with a condition on loss or accuracy",
        "fault = [{kind = \"slow\", nodes = [\"worker 1\"], factor = 0.5, when = \"loss < 100\"}]",
        "a condition such as when = \"updates >= 200\"", {.needs = real_data}, "when", waits_for_loss),
    row("recovery", "recovery.enabled = true", "enabled = false in [recovery]", failures,
        [](const Scenario& s) { return s.recovery.enabled; }),
    row("rebalancing by load", "recovery.rebalance = \"load\"\nrecovery.enabled = true",
        "rebalance = \"placement\" in [recovery]",
        {.needs = servers | one_group | whole_pushes | server_weights | one_scheduler, .takes = whole_arrays},
        [](const Scenario& s) { return s.may_fail() && s.recovery.rebalance == Rebalance::load; }),
    row("a crash of the scheduler",
        "fault = [{kind = \"crash\", nodes = [\"scheduler\"], at = \"3ms\", restart_after = \"5ms\"}]",
        "nodes = [\"server 0\"]", {.takes = one_scheduler}, "nodes", stops_scheduler),
    row("replication", "replication.copies = 1\ncluster.servers = 2", "copies = 0 in [replication]",
        {.needs = servers, .takes = arrives_once},
        [](const Scenario& s) { return s.replication.copies > 0; }),
    row("a snapshot", "snapshot.every = \"2 updates\"", "no `every` in [snapshot]",
        {.needs = server_weights, .takes = arrives_once},
        [](const Scenario& s) { return s.snapshot.every.has_value(); }),
};

}  // namespace

std::span<const Feature> feature_rows() { return feature_table; }

}  // namespace psim
