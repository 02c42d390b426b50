// How the samples are divided among the workers, and how they reach them.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

void describe_work(FieldVisitor& v, TrainingSpec& t) {
  v.field("work", choice(t.work),
          "How many of a clock's samples each worker computes. A gradient's weight is its number of samples.",
          when("architecture.kind", {"parameter-server", "all-reduce"}));
  v.field("work_every", &t.work_every,
          "Number of clocks from one decision about batch sizes to the next. Workers wait for each decision.",
          within(1, 1e6), when("work", {"dynamic"}));
  v.field("work_smoothing", &t.work_smoothing,
          "Weight of the newest measurement in the exponential mean of the time per sample.", above(0, 1),
          when("work", {"dynamic"}));
  v.field("work_piece", &t.work_piece,
          "Size of the first piece that a helping worker gets, as a share of batch_size. Later pieces are "
          "twice as large.",
          above(0, 1), when("work", {"stealing"}));
}

void describe_delivery(FieldVisitor& v, Scenario& s) {
  DeliverySpec& d = s.cluster.delivery;
  v.field("delivery", choice(d.source), "How training samples reach the workers.",
          when("architecture.kind", {"parameter-server", "all-reduce"}));
  v.field("prefetch", &d.prefetch, "Number of steps for which a worker requests batches in advance.",
          within(0, 1e4), when("delivery", {"database"}));
  v.field("bytes_per_sample", &d.bytes_per_sample, "Size of a sample on the network.", within(0, 1e12),
          only({.keys = {"data.delivery", "recovery.data_from"},
                .text = "where samples travel: delivery = \"database\", or data_from in [recovery]",
                .met = [&s] { return s.cluster.delivery.source == Delivery::database || s.moves_data(); }}),
          otherwise("4 per feature and for the label; 8 per nonzero of a sparse sample"));
}

}  // namespace psim
