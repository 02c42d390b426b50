// A program of tasks.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

template <>
std::vector<Choice> choices<TaskKind>() {
  return {{"pull", "a worker gets the weights"},
          {"gradient", "a worker computes the gradient of a batch on the weights of its pull"},
          {"push", "a worker sends its gradient; it waits at the servers"},
          {"apply",
           "servers: the one push that it comes after changes the weights, by its share of a clock's mean"},
          {"update", "servers: all pushes that are there change the weights, as one update"},
          {"scale", "servers: every weight times `amount`"},
          {"clip", "servers: weights beyond -`amount` and `amount` become that"},
          {"norm", "servers: tells the Euclidean norm of the weights"}};
}

void describe_task(FieldVisitor& v, TaskSpec& t) {
  v.field("name", &t.name, "Name of the task, one word; each has a different one.", required);
  v.field("do", choice(t.kind), "What the task does.", required);
  v.field(
      "on", &t.on,
      "Where it runs: \"workers\" (each worker, once a clock), \"worker 3\", or \"any worker\", whichever "
      "has nothing to do when the task is ready. A gradient and a push run where their pull ran.",
      when("do", {"pull"}), otherwise("workers"));
  v.field("count", &t.count,
          "On any worker: how many of it there are in a clock. Unit u of clock t computes the gradient of "
          "the clock's batch number u.",
          within(1, 20'000), when("do", {"pull"}), otherwise("workers"));
  v.field("after", &t.after,
          "Tasks that must have ended before: \"push\", of its own unit where both have units; \"all push\", "
          "of all units; \"update[-1]\", of the clock before.");
  v.field("amount", &t.amount, "The factor of scale, the bound of clip.", within(0, 1e9),
          when("do", {"scale", "clip"}), otherwise("required"));
}

}  // namespace psim
