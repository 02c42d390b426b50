// When workers wait for each other, and how servers apply their pushes.
#include <fmt/format.h>

#include <functional>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

// A program of tasks.
template <>
std::vector<Choice> choices<TaskKind>() {
  return {{"pull", "a worker gets the weights"},
          {"gradient", "a worker computes the gradient of a batch at the weights of its pull"},
          {"push", "a worker sends its gradient to the servers, which keep it until a task applies it"},
          {"apply", "the servers apply the one push in `after`, by its share of the clock's mean"},
          {"update", "the servers apply all pushes that they have, as one update"},
          {"scale", "the servers multiply every weight by `amount`"},
          {"clip", "the servers clip every weight to the range from -`amount` to `amount`"},
          {"norm", "the servers report the Euclidean norm of the weights"}};
}

void describe_task(FieldVisitor& v, TaskSpec& t) {
  v.field("name", &t.name, "Name of the task, one word; each has a different one.", required);
  v.field("do", choice(t.kind), "What the task does.", required);
  v.field("on", &t.on,
          "Where the task runs: \"workers\" (each worker, once a clock), \"worker 3\", or \"any worker\" "
          "(one that is idle when the task is ready). A gradient and a push run on the worker of their pull.",
          when("do", {"pull"}), otherwise("workers"));
  v.field("count", &t.count,
          "With on = \"any worker\": the number of units of the task in a clock. Unit u of clock t computes "
          "the gradient of the clock's batch u.",
          within(1, most_workers), when("do", {"pull"}), otherwise("workers"));
  v.field("after", &t.after,
          "Tasks that must have ended before this task starts. \"push\" is the push of the same unit, if "
          "both tasks have units; \"all push\" is the push of all units; \"update[-1]\" is the update of the "
          "previous clock.");
  v.field("amount", &t.amount, "The factor of a scale, or the bound of a clip.", within(0, 1e9),
          when("do", {"scale", "clip"}), otherwise("required"));
}

namespace {

// The field has a meaning only under models for which `has` is true.
auto when_model(bool (ConsistencyRow::*has)() const) {
  return when("model",
              names_of_rows<ConsistencyRow>([has](const ConsistencyRow& row) { return (row.*has)(); }));
}

// When servers make an update although pushes are missing.
void describe_closing(FieldVisitor& v, ConsistencySpec& c) {
  v.field("window", &c.window,
          "How long servers wait for the other pushes of an update after the first push. Then they make the "
          "update of the pushes that have arrived. If all needed pushes arrive earlier, servers do not wait "
          "longer (K-sync with a timeout; semi-asynchronous rounds: SAFA, Wu et al., IEEE ToC 2021).",
          within(0, 1e9), when_model(&ConsistencyRow::has_closing), otherwise("no limit"));
  v.field(
      "deadline", &c.deadline,
      "How long servers wait for the pushes of an update after the update before. Then they make the update "
      "of the pushes that have arrived; if none has arrived, the next push makes the update. The first wait "
      "begins at the first pull or push. If all needed pushes arrive earlier, servers do not wait longer "
      "(deadline of a round: FedCS, Nishio and Yonetani, ICC 2019; Bonawitz et al., MLSys 2019).",
      within(0, 1e9), when_model(&ConsistencyRow::has_closing), otherwise("no limit"));
  v.field(
      "deadline_mad", &c.deadline_mad,
      "A deadline that follows the workers' speed: servers wait after an update until the median arrival of "
      "the pushes in the last 10 updates, plus this number of median absolute deviations. Arrivals count "
      "from the update before theirs. The first 3 updates have no such deadline. The deviation is 0 if more "
      "than half of the pushes arrive at the same time, so step times should vary.",
      within(0, 1e9), when_model(&ConsistencyRow::has_closing), otherwise("no limit"));
  v.field("grace", &c.grace,
          "How long an update stays open after its condition has become true: `k` pushes have arrived, or "
          "`update` is true. Then servers make the update of the pushes that have arrived. They wait no "
          "longer if all workers that take part have pushed, or a window or a deadline is over (quorum and "
          "grace window: Decoupled DiLoCo, arXiv 2604.21428).",
          within(0, 1e9), when_model(&ConsistencyRow::has_k), otherwise("none"));
}

// Whether the scenario's choice of an age changes anything.
bool has_ages(const Scenario& s) {
  ConsistencySpec c = s.consistency;
  c.age = AgeOf::gradient;
  if (!make_rule(c, s.cluster.workers).one_age) return false;
  c.age = AgeOf::shard;
  const bool by_weight = s.training.staleness_aware || (c.max_staleness && c.too_stale == TooStale::damp),
             by_rule = c.max_staleness ||
                       (c.model->is_custom() && (c.custom.too_late != "false" || c.custom.weight != "1"));
  return by_weight || (by_rule && !make_rule(c, s.cluster.workers).first_shard_decides);
}

// What servers do with stale pushes.
void describe_limit(FieldVisitor& v, Scenario& s) {
  ConsistencySpec& c = s.consistency;
  v.field(
      "max_staleness", &c.max_staleness,
      "Largest staleness, in updates, of a push that counts in full. `too_stale` says what servers do "
      "with staler pushes (TensorFlow 1's ConditionalAccumulator drops them), and `late` what their "
      "workers do (Ringmaster ASGD, Maranjyan et al., ICML 2025: algorithm 4 drops, 5 cancels). Several "
      "shards may judge the parts of one gradient differently; the summary counts such gradients as torn, "
      "and `age` prevents them.",
      within(0, 1e9), when_model(&ConsistencyRow::has_limit), otherwise("no limit"));
  v.field("too_stale", choice(c.too_stale), "What servers do with a push that is staler than max_staleness.",
          when_model(&ConsistencyRow::has_limit),
          only({.keys = {"consistency.max_staleness"}, .text = "with max_staleness", .met = [&c] {
                  return c.max_staleness.has_value();
                }}));
  v.field(
      "age", choice(c.age), "Whose staleness decides what the servers do with the parts of a gradient.",
      when_model(&ConsistencyRow::has_age),
      only({.keys = {"consistency.max_staleness", "consistency.model", "training.staleness_aware",
                     "cluster.servers"},
            .text = "with several shards, and with max_staleness, staleness_aware or a custom model whose "
                    "first shard does not decide for the others anyway",
            .met = [&s] {
              const bool has_several = s.cluster.servers > 1 || s.messages.unit != MessageUnit::server;
              return has_several && has_ages(s);
            }}));
}

// What workers do whose pushes would come too late.
void describe_late(FieldVisitor& v, Scenario& s) {
  ConsistencySpec& c = s.consistency;
  ChoiceField late{choices<Late>(),
                   [&s, &c] {
                     const bool is_fresh = make_rule(c, s.cluster.workers).drops_stale;
                     return static_cast<std::size_t>(c.late.value_or(is_fresh ? Late::cancel : Late::drop));
                   },
                   [&c](std::size_t index) { c.late = static_cast<Late>(index); }};
  v.field("late", std::move(late), "What happens to a worker whose push would come too late.",
          when_model(&ConsistencyRow::has_late),
          otherwise("`cancel` if every stale push is too late; with a limit on their age `drop`"),
          only({.keys = {"consistency.window", "consistency.deadline", "consistency.deadline_mad",
                         "consistency.max_staleness", "consistency.too_stale", "consistency.too_late"},
                .text = "with a window, a deadline, k pushes in an update, or an age from which on all "
                        "pushes are dropped (max_staleness, too_late)",
                .met = [&s, &c] {
                  if (c.closes_early()) return true;
                  if (!c.model->has_age()) return c.model->has_k();
                  return make_rule(c, s.cluster.workers).oldest.has_value();
                }}));
}

void describe_array_bound(FieldVisitor& v, ArrayBound& a) {
  v.field("layer", &a.layer,
          "Number of the layer (its weights and biases), from 0 at the input. In a phantom model it is the "
          "number of the array.",
          within(0, 1e6), required);
  v.field("staleness", &a.staleness,
          "How many clocks a worker may be ahead of the slowest worker when it starts with this layer.",
          within(0, 1e9), required);
}

// How many clocks a worker may be ahead of the slowest worker.
void describe_bound(FieldVisitor& v, ConsistencySpec& c) {
  v.field("staleness", &c.staleness,
          "How many clocks a worker may be ahead of the slowest worker. For dssp this is the smallest bound "
          "that it may choose.",
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
          "Rows [clock, staleness]: from this clock on, `staleness` has this value.",
          when_model(&ConsistencyRow::has_schedule));
}

// Whether an update may have so many gradients that the aggregation's setting acts.
bool has_enough_gradients(const Scenario& s) {
  const auto& [row, settings] = s.consistency.aggregation;
  const ConsistencyRule rule = make_rule(s.consistency, s.cluster.workers);
  const auto most = static_cast<double>(rule.group);
  if (rule.varies || rule.grace || s.consistency.model->has_own_logic()) return true;
  if (row->name == "trimmed-mean") return settings.of(*row->settings.front()) * most >= 1 - 1e-9;
  return row->name != "krum" || most > 3;  // of three, each has one nearest neighbour
}

void describe_aggregation(FieldVisitor& v, Scenario& s) {
  ConsistencySpec& c = s.consistency;
  v.field("aggregation", choice(c.aggregation.row),
          "How servers combine the gradients of one update. If each push makes an update, `trimmed-mean`, "
          "`median` and `krum` equal the mean.",
          with_servers);
  const Need enough{
      .keys = {"consistency.model", "consistency.k", "consistency.backup", "cluster.workers"},
      .text = "with more gradients in an update: krum needs 4, and a trimmed mean 1 / trimmed_share",
      .met = [&s] { return has_enough_gradients(s); }};
  describe_settings<AggregationRow>(v, "aggregation", c.aggregation.settings, {.need = enough});
}

// The scenario's own consistency model (sim/protocol/custom_model.hpp).
void describe_custom(FieldVisitor& v, ConsistencySpec& c) {
  const auto expression = [&](std::string_view key, std::string* text, std::string_view doc,
                              std::string_view usual) {
    v.field(key, text, doc, when_model(&ConsistencyRow::is_custom), otherwise(usual));
  };
  expression("start", &c.custom.start,
             "When a worker may start a clock. An expression over `clock` (the clock to start), `min_clock` "
             "(the slowest worker's clock), `version` (of the weights at the server), `computed_on` (the "
             "version of the worker's last step, -1 before the first step), `pushed` and `applied` (numbers "
             "of the worker's pushes), `workers`, `k` and `staleness`.",
             "\"true\"");
  expression(
      "update", &c.custom.update,
      "When servers make an update of all waiting pushes. An expression over `pushes` (their number), "
      "`members` (the number of workers that take part), `distinct` (how many of them have a push that "
      "waits), `least` (the fewest waiting pushes of one of them), `harmonic` (the harmonic mean of their "
      "waiting pushes, 0 if one has none), `version`, `min_clock`, `workers`, `k` and "
      "`staleness`. Servers ignore the expression only for the last pushes of the run, when no worker "
      "will push again. A lost worker may come back, so an update that needs its push waits for it. "
      "If the update never happens, psim reports that the run is stuck. \"pushes >= min(k, members)\" "
      "does not wait for lost workers.",
      "\"pushes >= 1\"");
  expression("weight", &c.custom.weight,
             "Weight of a push relative to a fresh push. An expression over `age` (the number of updates "
             "since the weights on which the push was computed), `workers`, `k` and `staleness`. With one of "
             "`samples`, `batches` (numbers of the push) and `seconds` (that its worker computed) the "
             "expression is the whole weight: an update is the mean of its pushes with these weights, and "
             "psim does not weigh them by samples. Decoupled DiLoCo has \"samples * samples / batches\".",
             "\"1\"");
  expression(
      "too_late", &c.custom.too_late,
      "Which pushes servers drop. An expression over `age`, `workers`, `k` and `staleness`. If servers drop "
      "every push "
      "of age 1 or more, a clock is a version. `late` says what happens to workers whose step is late.",
      "\"false\"");
}

}  // namespace

void describe_consistency(FieldVisitor& v, Scenario& s) {
  ConsistencySpec& c = s.consistency;
  v.field("model", choice(c.model), "When a worker may start a clock, and when a server applies a push.",
          with_servers);
  describe_settings<ConsistencyRow>(v, "model", c.settings);
  describe_bound(v, c);
  v.field("k", &c.k, "Pushes per update.", within(1, most_workers), when_model(&ConsistencyRow::has_k),
          otherwise("must be given; for k-sync the number of workers minus `backup`, for custom the number "
                    "of workers"));
  v.field("backup", &c.backup, "Number of backup workers: k is the number of workers minus `backup`.",
          within(0, 19'999), when_model(&ConsistencyRow::has_backup));
  describe_late(v, s);
  describe_custom(v, c);
  describe_closing(v, c);
  describe_limit(v, s);
  v.field("cache", &c.cache,
          "Whether workers keep pulled weights. They pull a shard again only if their copy lacks pushes that "
          "the bound guarantees. They apply their own pushes to the copy, as plain SGD (Bösen: Wei et al., "
          "SoCC 2015; Angel).",
          when_model(&ConsistencyRow::has_bound));
  describe_aggregation(v, s);
  v.field("promises", &c.promises,
          "Expressions that hold in every run; `psim verify` checks them. Each is about one of `clock_gap` "
          "(how many clocks a worker is ahead of the slowest worker when it starts a step), `age` (how many "
          "updates old a push is when it is applied) and `pushes` (the number of pushes in an update). It "
          "may also use `workers`, `k` and `staleness`.",
          with_servers);
  v.tables("array", "A separate staleness bound for the arrays of one layer, as Bösen has for each table.",
           c.arrays, describe_array_bound, when_model(&ConsistencyRow::has_schedule));
}

}  // namespace psim
