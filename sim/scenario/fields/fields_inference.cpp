// The group of nodes that serves what the workers learn.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

// Whose parameters, and what is told of it.
void describe_served(FieldVisitor& v, InferenceSpec& i) {
  v.field("group", &i.group, "Name of the [[group]] whose parameters the nodes pull.", with_servers,
          otherwise("the first group"));
  v.field("window", &i.window,
          "Length of the windows of time in which answers are counted (`over_time` in summary.json, table "
          "`serving` of run.db). It is doubled until there are at most 10000 of them.",
          within(1e-6, 1e9), with_servers,
          otherwise("1, 2 or 5 times a power of ten, so that there are at most 50"));
}

}  // namespace

void describe_inference(FieldVisitor& v, InferenceSpec& i) {
  v.field("nodes", &i.nodes, "Number of nodes; each starts with the initial weights.", within(1, 1024),
          with_servers);
  v.field("rate", &i.rate,
          "Requests per second to all nodes together, whether they keep up or not; each node gets an equal "
          "share.",
          above(0, 1e9), with_servers);
  v.field("arrivals", choice(i.arrivals),
          "When requests arrive; a node answers them one at a time, in this order.", with_servers);
  v.field("refresh", &i.refresh, "Time from one pull of a node to its next; the nodes take turns.",
          above(0, 1e9), with_servers);
  v.field("samples_per_request", &i.samples_per_request, "Number of test samples in a request.",
          within(1, 1e6), with_servers);
  v.field("flops_per_request", &i.flops_per_request, "Operations of an answer.", within(0, 1e18),
          with_servers, otherwise("a third of the gradient's for as many samples: the forward pass"));
  v.field("speed", &i.speed, "Computing speed: one for all nodes, or a list with one for each.",
          within(1, 1e30), with_servers);
  describe_served(v, i);
}

}  // namespace psim
