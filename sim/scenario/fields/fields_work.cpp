// Who computes how much of the data, and how it gets there.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

void describe_work(FieldVisitor& v, TrainingSpec& t) {
  v.field("work", choice(t.work),
          {.doc = "How many of a clock's samples each worker computes; its gradient counts by its samples.",
           .when_key = "architecture.kind",
           .when = {"parameter-server", "all-reduce"}});
  v.field("work_every", &t.work_every,
          {.doc = "Clocks from one decision about batch sizes to the next; workers wait for each decision.",
           .min = 1,
           .max = 1e6,
           .when_key = "work",
           .when = {"dynamic"}});
  v.field("work_smoothing", &t.work_smoothing,
          {.doc = "Weight of the newest measurement in the exponential mean of the time per sample.",
           .min = 0,
           .max = 1,
           .above_min = true,
           .when_key = "work",
           .when = {"dynamic"}});
  v.field("work_piece", &t.work_piece,
          {.doc = "Size of the first piece that a helper gets, as a share of batch_size; later ones are "
                  "twice as large.",
           .min = 0,
           .max = 1,
           .above_min = true,
           .when_key = "work",
           .when = {"stealing"}});
}

void describe_delivery(FieldVisitor& v, Scenario& s) {
  DeliverySpec& d = s.cluster.delivery;
  v.field("delivery", choice(d.source),
          {.doc = "How training samples get to the workers.",
           .when_key = "architecture.kind",
           .when = {"parameter-server", "all-reduce"}});
  v.field("prefetch", &d.prefetch,
          {.doc = "Number of steps for which a worker requests batches ahead.",
           .min = 0,
           .max = 1e4,
           .when_key = "delivery",
           .when = {"database"}});
  v.field(
      "bytes_per_sample", &d.bytes_per_sample,
      {.doc = "Bytes of a sample on the network.",
       .min = 0,
       .max = 1e12,
       .need = {.keys = {"data.delivery", "recovery.data_from"},
                .text = "where samples travel: delivery = \"database\", or data_from in [recovery]",
                .met = [&s] { return s.cluster.delivery.source == Delivery::database || s.moves_data(); }},
       .default_text = "4 per feature and for the label; 8 per nonzero of a sparse sample"});
}

}  // namespace psim
