// Placement of the parameters, content of the messages, and their filters.
#include <fmt/format.h>

#include <functional>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

// The direction of a filter; the filter's kind decides it if the scenario does not give it.
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

// Default texts of the fields whose default depends on the filter's kind.
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
  v.field("kind", choice(p.kind), "How the parameters are distributed over the servers.", with_servers);
  v.field("virtual_nodes", &p.virtual_nodes, "Number of points of each server on the ring.", within(1, 1e5),
          when("kind", {"hash-ring"}));
  v.field("bigarray_bound", &p.bigarray_bound,
          "Arrays with this many values or more are split over all servers.", within(1, 1e12),
          when("kind", {"kvstore"}));
}

void describe_messages(FieldVisitor& v, Scenario& s) {
  MessagesSpec& m = s.messages;
  v.field("unit", choice(m.unit), "Which parameters travel in one message and have one version.",
          only({.keys = {"architecture.kind", "messages.overlap"},
                .text = "with servers, or overlap in an all-reduce",
                .met = [&s] { return s.architecture.has_servers() || s.messages.overlap; }}));
  v.field("slice", &m.slice, "Arrays longer than this many values are cut into slices; 0 cuts none.",
          within(0, 1e12), when("unit", {"array"}));
  v.field("overlap", &m.overlap,
          "Whether a worker pushes a layer's gradient as soon as the backward pass has computed it, asks for "
          "the layer's next weights at once (where no node fails), and begins the forward pass as soon as it "
          "has the first layer's weights. In an all-reduce: whether workers sum the gradients of finished "
          "layers, bucket by bucket, during the backward pass (Li et al., VLDB 2020).",
          when("unit", {"array"}));
  v.field("bucket", &m.bucket,
          "Largest size of a bucket in an all-reduce with overlap. A bucket holds the gradients of arrays, "
          "or slices, that are computed one after the other; the workers sum it as a whole (bucket_cap_mb of "
          "PyTorch's DistributedDataParallel).",
          within(1, 1e15), when("architecture.kind", {"all-reduce"}),
          only({.keys = {"messages.overlap"},
                .text = "with overlap",
                .met = [&m] { return m.overlap && m.unit == MessageUnit::array; }}),
          otherwise("each array, or slice, is a bucket"));
  v.field("order", choice(m.order), "In which order the messages from one node to another travel.");
  v.field("acknowledge", &m.acknowledge,
          "Whether servers acknowledge every push, and workers wait for the acknowledgement before they pull "
          "(ps-lite). A server acknowledges a push when it has applied or dropped it. If the consistency "
          "model lets workers start at once, the server acknowledges the push on arrival. If something may "
          "be lost (recovery.enabled), servers acknowledge every push on arrival, whatever this field says.",
          only({.keys = {"consistency.model"},
                .text = "with other models than tasks, whose servers always acknowledge",
                .met = [&s] { return !s.consistency.model->has_tasks(); }}));
  v.field("keys", choice(m.keys), "How a message names the weights of its values.",
          only({.keys = {"architecture.kind"}, .text = "with servers", .met = [&s] {
                  return s.architecture.has_servers();
                }}));
}

void describe_filter(FieldVisitor& v, FilterSpec& f) {
  v.field("kind", choice(f.kind), "What the filter does to a message before it is sent.", required);
  v.field("on", choice_of_direction(f), "Which messages pass the filter.", otherwise(default_direction()));
  describe_settings<FilterRow>(v, "kind", f.settings);
  v.field("error_feedback", &f.error_feedback,
          "Whether the next push includes the part of the gradient that the filter removed from this push.",
          when("kind", names_of_rows<FilterRow>(
                           [](const auto& row) { return row.error_feedback != ErrorFeedback::impossible; })),
          otherwise(default_feedback()));
  v.field(
      "memory", choice(f.memory), "What a filter with error feedback remembers.",
      only({.keys = {"error_feedback", "kind", "on"}, .text = "for pushes with error feedback", .met = [&f] {
              return f.works_on(true) && f.feeds_back();
            }}));
  v.field("flops_per_value", &f.flops_per_value,
          "Floating-point operations of the sender for each value that enters the filter.", within(0, 1e12));
}

}  // namespace psim
