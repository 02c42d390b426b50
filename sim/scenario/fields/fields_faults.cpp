// What goes wrong, when, and with whom.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

constexpr double longest = 1e9;  // seconds

std::vector<std::string_view> kinds_that(bool (*fit)(const FaultKindRow&)) {
  return names_of_rows<FaultKindRow>(fit);
}

bool is_window(const FaultKindRow& kind) { return kind.window; }
bool has_nodes(const FaultKindRow& kind) { return kind.on == FaultOn::nodes || kind.on == FaultOn::messages; }
bool has_sides(const FaultKindRow& kind) { return kind.on == FaultOn::sides || kind.on == FaultOn::messages; }
bool has_messages(const FaultKindRow& kind) { return kind.on == FaultOn::messages; }
bool has_factor(const FaultKindRow& kind) { return kind.takes_factor(); }
bool has_delay(const FaultKindRow& kind) { return kind.takes_delay; }
bool crashes(const FaultKindRow& kind) { return kind.crashes; }

// By which a fault begins.
void describe_trigger(FieldVisitor& v, FaultSpec& f) {
  v.field("at", &f.at, {.doc = "When the fault happens, once.", .min = 0, .max = longest});
  v.field("from", &f.from,
          {.doc = "When the fault begins.",
           .min = 0,
           .max = longest,
           .when_key = "kind",
           .when = kinds_that(is_window),
           .default_text = "the beginning"});
  v.field("until", &f.until,
          {.doc = "When the fault ends.",
           .min = 0,
           .max = longest,
           .above_min = true,
           .when_key = "kind",
           .when = kinds_that(is_window),
           .default_text = "the end"});
  v.field("mtbf", &f.mtbf,
          {.doc = "Mean time to the next fault, from the begin of the run or the end of the last fault. The "
                  "times are exponential, drawn for each node separately.",
           .min = 0,
           .max = longest,
           .above_min = true});
  v.field("when", &f.when,
          {.doc = "A condition; the fault happens when it first holds: \"loss < 0.5\", \"accuracy > 0.9\", "
                  "\"updates >= 200\", \"clock of worker 3 = 100\", \"server 1 crashed\". Loss, accuracy and "
                  "updates are those of the first [[group]]."});
  v.field("every", &f.every,
          {.doc = "Repeat `at`, or `from` and `until`, with this period.",
           .min = 0,
           .max = longest,
           .above_min = true,
           .default_text = "once"});
  v.field("lasts", &f.lasts,
          {.doc = "How long the fault lasts, if it began by `at`, `mtbf` or `when`.",
           .min = 0,
           .max = longest,
           .above_min = true,
           .when_key = "kind",
           .when = kinds_that(is_window),
           .default_text = "for ever"});
}

}  // namespace

void describe_fault(FieldVisitor& v, FaultSpec& f) {
  v.field("kind", choice(f.kind), {.doc = "The kind of fault.", .required = true});
  v.field("nodes", &f.nodes,
          {.doc = "Nodes that the fault affects: \"scheduler\", \"server 1\", \"worker 3\", \"storage\", "
                  "\"inference 0\", \"servers\", \"workers\" or \"all\". A fault of messages affects those "
                  "that one of the "
                  "nodes sends or receives.",
           .filled = true,
           .when_key = "kind",
           .when = kinds_that(has_nodes)});
  v.field("between", &f.between,
          {.doc = "Two lists of nodes; the fault affects messages between them, both ways. [\"rest\"] stands "
                  "for all nodes that are not in the other list.",
           .filled = true,
           .when_key = "kind",
           .when = kinds_that(has_sides)});
  v.field("messages", &f.messages,
          {.doc = "Kinds of messages that the fault affects, such as \"push\", \"pull\" and \"weights\".",
           .filled = true,
           .when_key = "kind",
           .when = kinds_that(has_messages),
           .default_text = "all"});
  describe_trigger(v, f);
  v.field("restart_after", &f.restart_after,
          {.doc = "Time from a crash to the restart.",
           .min = 0,
           .max = longest,
           .when_key = "kind",
           .when = kinds_that(crashes),
           .default_text = "never"});
  v.field("disk", choice(f.disk),
          {.doc = "What happens to the snapshots that a crashing storage node has written. Other nodes have "
                  "nothing on a disk.",
           .when_key = "kind",
           .when = kinds_that(crashes)});
  v.field("probability", &f.probability,
          {.doc = "Probability that the fault affects a message.",
           .min = 0,
           .max = 1,
           .when_key = "kind",
           .when = kinds_that(has_messages)});
  v.field("factor", &f.factor,
          {.doc = "Remaining share of the speed (slow; 0 freezes the node) or of the bandwidth (degrade).",
           .min = 0,
           .max = 1,
           .when_key = "kind",
           .when = kinds_that(has_factor),
           .default_text = "required"});
  v.field(
      "delay", &f.delay,
      {.doc =
           "How much later a message arrives (delay), or at most how much (reorder: uniformly distributed).",
       .min = 0,
       .max = longest,
       .above_min = true,
       .when_key = "kind",
       .when = kinds_that(has_delay),
       .default_text = "required"});
}

}  // namespace psim
