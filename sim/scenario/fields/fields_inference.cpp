// The group of nodes that serves what the workers learn.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

// Whose parameters, and what is told of it.
void describe_served(FieldVisitor& v, InferenceSpec& i) {
  const std::string_view kind = "architecture.kind";
  const std::vector<std::string_view> servers = {"parameter-server"};
  v.field("group", &i.group,
          {.doc = "Name of the [[group]] whose parameters the nodes pull.",
           .when_key = kind,
           .when = servers,
           .default_text = "the first group"});
  v.field(
      "window", &i.window,
      {.doc =
           "Length of the windows of time in which answers are counted (`over_time` in summary.json, table "
           "`serving` of run.db). It is doubled until there are at most 10000 of them.",
       .min = 1e-6,
       .max = 1e9,
       .when_key = kind,
       .when = servers,
       .default_text = "1, 2 or 5 times a power of ten, so that there are at most 50"});
}

}  // namespace

void describe_inference(FieldVisitor& v, InferenceSpec& i) {
  const std::string_view kind = "architecture.kind";
  const std::vector<std::string_view> servers = {"parameter-server"};
  v.field("nodes", &i.nodes,
          {.doc = "Number of nodes; each starts with the initial weights.",
           .min = 1,
           .max = 1024,
           .when_key = kind,
           .when = servers});
  v.field("rate", &i.rate,
          {.doc = "Requests per second to all nodes together, whether they keep up or not; each node gets an "
                  "equal share.",
           .min = 0,
           .max = 1e9,
           .above_min = true,
           .when_key = kind,
           .when = servers});
  v.field("arrivals", choice(i.arrivals),
          {.doc = "When requests arrive; a node answers them one at a time, in this order.",
           .when_key = kind,
           .when = servers});
  v.field("refresh", &i.refresh,
          {.doc = "Time from one pull of a node to its next; the nodes take turns.",
           .min = 0,
           .max = 1e9,
           .above_min = true,
           .when_key = kind,
           .when = servers});
  v.field("samples_per_request", &i.samples_per_request,
          {.doc = "Number of test samples in a request.",
           .min = 1,
           .max = 1e6,
           .when_key = kind,
           .when = servers});
  v.field("flops_per_request", &i.flops_per_request,
          {.doc = "Operations of an answer.",
           .min = 0,
           .max = 1e18,
           .when_key = kind,
           .when = servers,
           .default_text = "a third of the gradient's for as many samples: the forward pass"});
  v.field("speed", &i.speed,
          {.doc = "Computing speed: one for all nodes, or a list with one for each.",
           .min = 1,
           .max = 1e30,
           .when_key = kind,
           .when = servers});
  describe_served(v, i);
}

}  // namespace psim
