// When workers wait for each other, and how servers apply their pushes.
#include <functional>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

// Only under models that `has` holds for.
auto when_model(bool (ConsistencyRow::*has)() const) {
  return when("model",
              names_of_rows<ConsistencyRow>([has](const ConsistencyRow& row) { return (row.*has)(); }));
}

// When an update is made although pushes are missing.
void describe_closing(FieldVisitor& v, ConsistencySpec& c) {
  v.field("window", &c.window,
          "Time after an update's first push at which it is made of the pushes that are there, if it "
          "does not have all that it needs before (K-sync with a timeout; semi-asynchronous rounds: "
          "SAFA, Wu et al., IEEE ToC 2021).",
          within(0, 1e9), when_model(&ConsistencyRow::has_closing), otherwise("no limit"));
  v.field("deadline", &c.deadline,
          "Time after the last update (at first, the first pull or push) at which an update is made of "
          "the pushes that are there, if it does not have all that it needs before; if none is there "
          "by then, the next one makes the update (deadline of a round: FedCS, Nishio and Yonetani, "
          "ICC 2019; Bonawitz et al., MLSys 2019).",
          within(0, 1e9), when_model(&ConsistencyRow::has_closing), otherwise("no limit"));
}

// What becomes of stale pushes where they count.
void describe_limit(FieldVisitor& v, ConsistencySpec& c) {
  v.field("max_staleness", &c.max_staleness,
          "Updates that a push may be stale, when it is applied at its shard, to count in full "
          "(TensorFlow 1's ConditionalAccumulator drops staler ones).",
          within(0, 1e9), when_model(&ConsistencyRow::has_limit), otherwise("no limit"));
  v.field("too_stale", choice(c.too_stale), "What becomes of a staler push.",
          when_model(&ConsistencyRow::has_limit),
          only({.keys = {"consistency.max_staleness"}, .text = "with max_staleness", .met = [&c] {
                  return c.max_staleness.has_value();
                }}));
}

void describe_array_bound(FieldVisitor& v, ArrayBound& a) {
  v.field("layer", &a.layer,
          "The layer, from 0 at the input: its weights and biases; of a phantom model the array.",
          within(0, 1e6), required);
  v.field("staleness", &a.staleness,
          "How many clocks a worker may be ahead of the slowest one when it starts with this layer.",
          within(0, 1e9), required);
}

// How far ahead of the slowest a worker may be.
void describe_bound(FieldVisitor& v, ConsistencySpec& c) {
  v.field("staleness", &c.staleness,
          "How many clocks a worker may be ahead of the slowest one; for dssp the smallest such bound.",
          within(0, 1e9), when_model(&ConsistencyRow::has_staleness),
          only({.keys = {"consistency.staleness_schedule"},
                .text = "without a staleness_schedule that begins at clock 0",
                .met = [&c] {
                  const auto& rows = c.staleness_schedule;
                  return rows.empty() || rows[0].empty() || rows[0][0] > 0;
                }}));
  v.field("staleness_max", &c.staleness_max, "The largest bound that dssp may choose.", within(0, 1e9),
          when_model(&ConsistencyRow::has_highest_bound));
  v.field("staleness_schedule", &c.staleness_schedule,
          "Rows [clock, staleness]: the bound from that clock on.",
          when_model(&ConsistencyRow::has_schedule));
}

void describe_aggregation(FieldVisitor& v, ConsistencySpec& c) {
  v.field("aggregation", choice(c.aggregation.row),
          "How the gradients of one update are combined. `trimmed-mean`, `median` and `krum` are the mean "
          "where each push makes an update.",
          with_servers);
  describe_settings<AggregationRow>(v, "aggregation", c.aggregation.settings);
}

// A model of the scenario's own (sim/protocol/custom_model.hpp).
void describe_custom(FieldVisitor& v, ConsistencySpec& c) {
  const auto expression = [&](std::string_view key, std::string* text, std::string_view doc,
                              std::string_view usual) {
    v.field(key, text, doc, when_model(&ConsistencyRow::is_custom), otherwise(usual));
  };
  expression("start", &c.custom.start,
             "When a worker may start a clock, an expression over `clock` (the one that it wants to start), "
             "`min_clock` (the slowest worker's), `version` (of the weights at the server), `computed_on` "
             "(of the worker's last step, -1 before the first), `pushed` and `applied` (its own pushes), and "
             "the numbers `workers`, `k` and `staleness`.",
             "\"true\"");
  expression(
      "update", &c.custom.update,
      "When an update is made of all pushes that are there, an expression over `pushes` (that wait for it), "
      "`members` (workers that take part), `version`, `min_clock`, `workers`, `k` and `staleness`. An update "
      "of fewer pushes is made only of the last ones, when no worker will push again. A worker that is gone "
      "may come back: an update that needs its push waits for it, and a run whose updates never come says "
      "that it is stuck. `members` follows who is there: \"pushes >= min(k, members)\".",
      "\"pushes >= 1\"");
  expression("weight", &c.custom.weight,
             "What a push weighs, beside a fresh one, an expression over `age` (the updates since the "
             "weights that it was computed on), `workers`, `k` and `staleness`.",
             "\"1\"");
  expression("too_late", &c.custom.too_late,
             "Which pushes are thrown away, an expression over the same as `weight`. If every push of age 1 "
             "and more is, a clock is a version, and workers whose step is late are told (`late`).",
             "\"false\"");
}

}  // namespace

void describe_consistency(FieldVisitor& v, ConsistencySpec& c) {
  v.field("model", choice(c.model), "When a worker may start a clock and when a server applies a push.",
          with_servers);
  describe_settings<ConsistencyRow>(v, "model", c.settings);
  describe_bound(v, c);
  v.field(
      "k", &c.k, "Pushes per update.", within(1, 20'000), when_model(&ConsistencyRow::has_k),
      otherwise("must be given; for k-sync the number of workers less `backup`, for custom that of workers"));
  v.field("backup", &c.backup, "Backup workers: k is the number of workers less this.", within(0, 19'999),
          when_model(&ConsistencyRow::has_backup));
  v.field("late", choice(c.late), "What happens to a worker whose push would come too late.",
          when_model(&ConsistencyRow::has_late),
          only({.keys = {"consistency.window", "consistency.deadline"},
                .text = "with a window or a deadline, or k pushes in an update",
                .met = [&c] { return c.model->has_k() || c.closes_by_date(); }}));
  describe_custom(v, c);
  describe_closing(v, c);
  describe_limit(v, c);
  v.field("cache", &c.cache,
          "Whether workers keep pulled weights, and pull a shard again only when the copy lacks pushes that "
          "the bound promises; they apply their own pushes to it, as plain SGD (Bösen: Wei et al., SoCC "
          "2015; Angel).",
          when_model(&ConsistencyRow::has_bound));
  describe_aggregation(v, c);
  v.field("promises", &c.promises,
          "What holds in every run, for `psim verify` to check: expressions over `clock_gap` (clocks that a "
          "worker is ahead of the slowest one when it starts a step), `age` (updates that a push is old when "
          "it is applied) or `pushes` (in an update), and `workers`, `k` and `staleness`. Each is about one "
          "of the three.",
          with_servers);
  v.tables("array", "A staleness bound of its own for the arrays of one layer, as of a table of Bösen's.",
           c.arrays, describe_array_bound, when_model(&ConsistencyRow::has_schedule));
}

}  // namespace psim
