// A program of tasks.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

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
          within(1, 20'000), when("do", {"pull"}), otherwise("workers"));
  v.field("after", &t.after,
          "Tasks that must have ended before this task starts. \"push\" is the push of the same unit, if "
          "both tasks have units; \"all push\" is the push of all units; \"update[-1]\" is the update of the "
          "previous clock.");
  v.field("amount", &t.amount, "The factor of a scale, or the bound of a clip.", within(0, 1e9),
          when("do", {"scale", "clip"}), otherwise("required"));
}

}  // namespace psim
