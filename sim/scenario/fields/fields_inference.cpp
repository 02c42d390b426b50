// The nodes that answer requests with the weights that the workers train.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

// Which parameters the nodes serve, and how psim reports it.
void describe_served(FieldVisitor& v, InferenceSpec& i) {
  v.field("group", &i.group, "Name of the [[group]] whose parameters the nodes pull.", with_servers,
          otherwise("the first group"));
  v.field("window", &i.window,
          "Length of the time windows in which psim counts answers (`over_time` in summary.json, table "
          "`serving` of run.db). psim doubles the length until there are at most 10000 windows.",
          within(1e-6, 1e9), with_servers,
          otherwise("1, 2 or 5 times a power of ten, so that there are at most 50 windows"));
}

}  // namespace

void describe_inference(FieldVisitor& v, InferenceSpec& i) {
  v.field("nodes", &i.nodes, "Number of inference nodes. Each starts with the initial weights.",
          within(1, 1024), with_servers);
  v.field("rate", &i.rate,
          "Number of requests per second to all nodes together, whether or not the nodes keep up. Each node "
          "gets an equal share.",
          above(0, 1e9), with_servers);
  v.field("arrivals", choice(i.arrivals),
          "The time between requests. A node answers them one at a time, in the order of arrival.",
          with_servers);
  v.field("refresh", &i.refresh, "Time from one pull of a node to its next pull. The nodes pull in turn.",
          above(0, 1e9), with_servers);
  v.field("samples_per_request", &i.samples_per_request, "Number of test samples in a request.",
          within(1, 1e6), with_servers);
  v.field("flops_per_request", &i.flops_per_request, "Floating-point operations of one answer.",
          within(0, 1e18), with_servers,
          otherwise("a third of the operations of a gradient of these samples: the forward pass"));
  v.field("speed", &i.speed, "Computing speed: one for all nodes, or a list with one for each.",
          within(1, 1e30), with_servers);
  describe_served(v, i);
}

}  // namespace psim
