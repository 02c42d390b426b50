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
  v.field("at", &f.at, {.doc = "When it happens, once.", .min = 0, .max = longest});
  v.field("from", &f.from,
          {.doc = "Begin of the time in which it is so.",
           .min = 0,
           .max = longest,
           .when_key = "kind",
           .when = kinds_that(is_window),
           .default_text = "the beginning"});
  v.field("until", &f.until,
          {.doc = "End of the time in which it is so.",
           .min = 0,
           .max = longest,
           .above_min = true,
           .when_key = "kind",
           .when = kinds_that(is_window),
           .default_text = "the end"});
  v.field(
      "mtbf", &f.mtbf,
      {.doc = "Mean time from the run's begin, or from when all is well again, to the next one: exponential "
              "times, drawn for each node by itself.",
       .min = 0,
       .max = longest,
       .above_min = true});
  v.field("when", &f.when,
          {.doc = "A condition; it happens when that first holds: \"loss < 0.5\", \"accuracy > 0.9\", "
                  "\"updates >= 200\", \"clock of worker 3 = 100\", \"server 1 crashed\"."});
  v.field("every", &f.every,
          {.doc = "Repeat `at`, or `from` and `until`, with this period.",
           .min = 0,
           .max = longest,
           .above_min = true,
           .default_text = "once"});
  v.field("lasts", &f.lasts,
          {.doc = "How long it is so, when it began by `at`, `mtbf` or `when`.",
           .min = 0,
           .max = longest,
           .above_min = true,
           .when_key = "kind",
           .when = kinds_that(is_window),
           .default_text = "for ever"});
}

}  // namespace

void describe_fault(FieldVisitor& v, FaultSpec& f) {
  v.field("kind", choice(f.kind), {.doc = "What happens.", .required = true});
  v.field("nodes", &f.nodes,
          {.doc = "To whom: \"scheduler\", \"server 1\", \"worker 3\", \"storage\", \"servers\", "
                  "\"workers\" or \"all\". Of messages: one of their ends.",
           .filled = true,
           .when_key = "kind",
           .when = kinds_that(has_nodes)});
  v.field(
      "between", &f.between,
      {.doc = "Two lists of nodes: what goes from one to the other, both ways. [\"rest\"] is all who are not "
              "on the other side.",
       .filled = true,
       .when_key = "kind",
       .when = kinds_that(has_sides)});
  v.field("messages", &f.messages,
          {.doc = "Which kinds of messages, such as \"push\", \"pull\" and \"weights\".",
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
  v.field(
      "disk", choice(f.disk),
      {.doc = "Whether what the storage had written is there after its restart: the snapshots. Others have "
              "nothing on a disk.",
       .when_key = "kind",
       .when = kinds_that(crashes)});
  v.field("probability", &f.probability,
          {.doc = "Probability that it happens to a message.",
           .min = 0,
           .max = 1,
           .when_key = "kind",
           .when = kinds_that(has_messages)});
  v.field("factor", &f.factor,
          {.doc = "What is left of the speed (slow; 0: the node is frozen) or of the bandwidth (degrade).",
           .min = 0,
           .max = 1,
           .when_key = "kind",
           .when = kinds_that(has_factor),
           .default_text = "required"});
  v.field("delay", &f.delay,
          {.doc = "How much later a message comes (delay), or at most (reorder: uniformly).",
           .min = 0,
           .max = longest,
           .above_min = true,
           .when_key = "kind",
           .when = kinds_that(has_delay),
           .default_text = "required"});
}

}  // namespace psim
