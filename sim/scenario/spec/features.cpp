#include "sim/scenario/spec/features.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

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
};

// The demands of a consistency model, derived from its rule.
Demands of_model(const Scenario& s) {
  ConsistencySpec spec = s.consistency;
  spec.window = spec.deadline = std::nullopt;  // a feature of its own
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

}  // namespace psim
