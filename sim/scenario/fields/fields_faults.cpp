// Faults: their kinds, nodes and times.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

constexpr double longest = 1e9;  // seconds

// The field has a meaning only with kinds that `fit`.
auto of_kind(bool (*fit)(const FaultKindRow&)) { return when("kind", names_of_rows<FaultKindRow>(fit)); }

bool is_window(const FaultKindRow& kind) { return kind.window; }
bool has_nodes(const FaultKindRow& kind) { return kind.on == FaultOn::nodes || kind.on == FaultOn::messages; }
bool has_sides(const FaultKindRow& kind) { return kind.on == FaultOn::sides || kind.on == FaultOn::messages; }
bool has_messages(const FaultKindRow& kind) { return kind.on == FaultOn::messages; }
bool has_factor(const FaultKindRow& kind) { return kind.takes_factor(); }
bool has_delay(const FaultKindRow& kind) { return kind.takes_delay; }
bool crashes(const FaultKindRow& kind) { return kind.crashes; }

// The fields that decide when a fault begins and ends.
void describe_trigger(FieldVisitor& v, FaultSpec& f) {
  v.field("at", &f.at, "When the fault happens.", within(0, longest));
  v.field("from", &f.from, "When the fault begins.", within(0, longest), of_kind(is_window),
          otherwise("the beginning"));
  v.field("until", &f.until, "When the fault ends.", above(0, longest), of_kind(is_window),
          otherwise("the end"));
  v.field("mtbf", &f.mtbf,
          "Mean time from the beginning of the run, or from the end of the last fault, to the next fault. "
          "psim draws exponential times, for each node separately.",
          above(0, longest));
  v.field("when", &f.when,
          "A condition. The fault happens when the condition first holds: \"loss < 0.5\", \"accuracy > "
          "0.9\", \"updates >= 200\", \"clock of worker 3 = 100\", \"server 1 crashed\". Loss, accuracy and "
          "updates are the values of the first [[group]].");
  v.field("every", &f.every, "Repeat `at`, or `from` and `until`, with this period.", above(0, longest),
          otherwise("once"));
  v.field("lasts", &f.lasts, "How long a fault with `at`, `mtbf` or `when` lasts.", above(0, longest),
          of_kind(is_window), otherwise("for ever"));
}

}  // namespace

void describe_fault(FieldVisitor& v, FaultSpec& f) {
  v.field("kind", choice(f.kind), "The kind of fault.", required);
  v.field("nodes", &f.nodes,
          "Nodes that the fault affects: \"scheduler\", \"server 1\", \"worker 3\", \"storage\", \"inference "
          "0\", \"servers\", \"workers\" or \"all\". A fault of messages affects the messages that one of "
          "these nodes sends or receives.",
          filled, of_kind(has_nodes));
  v.field("between", &f.between,
          "Two lists of nodes. The fault affects messages between them, in both directions. [\"rest\"] means "
          "all nodes that are not in the other list.",
          filled, of_kind(has_sides));
  v.field("messages", &f.messages,
          "Kinds of messages that the fault affects, such as \"push\", \"pull\" and \"weights\".", filled,
          of_kind(has_messages), otherwise("all"));
  describe_trigger(v, f);
  v.field("restart_after", &f.restart_after, "Time from a crash to the restart.", within(0, longest),
          of_kind(crashes), otherwise("never"));
  v.field("disk", choice(f.disk),
          "What happens to the snapshots of a storage node that crashes. Other nodes have no disk.",
          of_kind(crashes));
  v.field("probability", &f.probability, "Probability that the fault affects a message.", within(0, 1),
          of_kind(has_messages));
  v.field("factor", &f.factor,
          "Remaining share of the speed (slow; 0 freezes the node) or of the bandwidth (degrade).",
          within(0, 1), of_kind(has_factor), otherwise("required"));
  v.field("delay", &f.delay,
          "How much later a message arrives. With reorder, psim draws the delay of each message uniformly "
          "from 0 to this value.",
          above(0, longest), of_kind(has_delay), otherwise("required"));
}

}  // namespace psim
