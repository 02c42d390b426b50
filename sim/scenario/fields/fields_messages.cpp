// Where parameters are, what travels in a message, and through which filters.
#include <fmt/format.h>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

// Where a filter works, which its kind decides when it is not given.
ChoiceField choice_of_direction(FilterSpec& filter) {
  return {choices<FilterOn>(), [&filter] { return static_cast<std::size_t>(filter.direction()); },
          [&filter](std::size_t index) { filter.on = static_cast<FilterOn>(index); }};
}

std::string list_of(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 < names.size() ? ", " : " and ", names[i]);
  return text;
}

// What stands for fields that a filter's kind decides where they are not given.
std::string_view default_direction() {
  static const std::string text = fmt::format(
      "`push`; for {} `both`",
      list_of(names_of_rows<FilterRow>([](const auto& row) { return row.stage >= FilterStage::keys; })));
  return text;
}
std::string_view default_feedback() {
  static const std::string text =
      fmt::format("`true`; for {} `false`", list_of(names_of_rows<FilterRow>([](const auto& row) {
                    return row.error_feedback == ErrorFeedback::off;
                  })));
  return text;
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
              "when it is in."});
  v.field("keys", choice(m.keys), {.doc = "How a message says which weights its values belong to."});
}

void describe_filter(FieldVisitor& v, FilterSpec& f) {
  v.field("kind", choice(f.kind), {.doc = "What is done to a message before it is sent.", .required = true});
  v.field("on", choice_of_direction(f),
          {.doc = "Which messages go through it.", .default_text = default_direction()});
  describe_settings<FilterRow>(v, "kind", f.settings);
  v.field("error_feedback", &f.error_feedback,
          {.doc = "Whether what a push lost is added to the next one.",
           .when_key = "kind",
           .when = names_of_rows<FilterRow>(
               [](const auto& row) { return row.error_feedback != ErrorFeedback::impossible; }),
           .default_text = default_feedback()});
  v.field("flops_per_value", &f.flops_per_value,
          {.doc = "Work of the sender for each value that comes into the filter.", .min = 0, .max = 1e12});
}

}  // namespace psim
