// Where parameters are, what travels in a message, and through which filters.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

// Where a filter works, which its kind decides when it is not given.
ChoiceField choice_of_direction(FilterSpec& filter) {
  return {choices<FilterOn>(), [&filter] { return static_cast<std::size_t>(filter.direction()); },
          [&filter](std::size_t index) { filter.on = static_cast<FilterOn>(index); }};
}

std::vector<std::string_view> kinds_that_feed_back() {
  std::vector<std::string_view> names;
  for (const FilterRow& row : filter_rows) {
    if (row.error_feedback != ErrorFeedback::impossible) names.push_back(row.name);
  }
  return names;
}

}  // namespace

void describe_placement(FieldVisitor& v, PlacementSpec& p) {
  v.field("kind", choice(p.kind), {.doc = "How parameters are dealt out to the servers."});
  v.field("virtual_nodes", &p.virtual_nodes,
          {.doc = "Points of each server on the ring.",
           .min = 1,
           .max = 1e5,
           .when_key = "kind",
           .when = {"hash-ring"}});
  v.field("bigarray_bound", &p.bigarray_bound,
          {.doc = "Arrays of so many values or more are split over all servers.",
           .min = 1,
           .max = 1e12,
           .when_key = "kind",
           .when = {"kvstore"}});
}

void describe_messages(FieldVisitor& v, MessagesSpec& m) {
  v.field("unit", choice(m.unit), {.doc = "What is pushed, pulled and versioned as one message."});
  v.field("slice", &m.slice,
          {.doc = "Arrays longer than so many values are cut; 0 cuts nothing.",
           .min = 0,
           .max = 1e12,
           .when_key = "unit",
           .when = {"array"}});
  v.field("overlap", &m.overlap,
          {.doc = "Whether a layer's gradient is pushed as soon as the backward pass has it, and the forward "
                  "pass begins when the first layer's weights are here.",
           .when_key = "unit",
           .when = {"array"}});
  v.field("order", choice(m.order), {.doc = "Which of the messages from one node to another goes first."});
  v.field(
      "acknowledge", &m.acknowledge,
      {.doc = "Whether servers answer every push, and workers wait for that before they pull (ps-lite). The "
              "answer comes when the push is applied or dropped; where a model lets workers start at once, "
              "when it is in. Where something may be lost (recovery.enabled) servers answer every push as "
              "soon as it "
              "is in, whatever stands here."});
  v.field("keys", choice(m.keys), {.doc = "How a message says which weights its values belong to."});
}

void describe_filter(FieldVisitor& v, FilterSpec& f) {
  v.field("kind", choice(f.kind), {.doc = "What is done to a message before it is sent.", .required = true});
  v.field(
      "on", choice_of_direction(f),
      {.doc = "Which messages go through it.", .default_text = "`push`; for key-caching and snappy `both`"});
  v.field("threshold", &f.threshold,
          {.doc = "What counts: the step of two-bit and threshold, the change of significant.",
           .min = 0,
           .max = 1e30,
           .above_min = true,
           .when_key = "kind",
           .when = {"two-bit", "threshold", "significant"},
           .default_text = "0.5 for two-bit, else required"});
  v.field("fraction", &f.fraction,
          {.doc = "Share of a message's values that is sent, at least one value.",
           .min = 0,
           .max = 1,
           .above_min = true,
           .when_key = "kind",
           .when = {"top-k", "random-k"}});
  v.field("probability", &f.probability,
          {.doc = "Probability that a value is left out.",
           .min = 0,
           .max = 1,
           .below_max = true,
           .when_key = "kind",
           .when = {"random-skip"}});
  v.field("bits", &f.bits,
          {.doc = "Bits of a value, with its sign.",
           .min = 2,
           .max = 24,
           .when_key = "kind",
           .when = {"fixed-point"}});
  v.field("delta", &f.delta,
          {.doc = "How far below l1 a gradient must be to be dropped.",
           .min = 0,
           .max = 1e30,
           .when_key = "kind",
           .when = {"kkt"}});
  v.field("error_feedback", &f.error_feedback,
          {.doc = "Whether what a push lost is added to the next one.",
           .when_key = "kind",
           .when = kinds_that_feed_back(),
           .default_text = "`true`; for fp16, fixed-point and random-skip `false`"});
  v.field("flops_per_value", &f.flops_per_value,
          {.doc = "Work of the sender for each value that comes into the filter.", .min = 0, .max = 1e12});
}

}  // namespace psim
