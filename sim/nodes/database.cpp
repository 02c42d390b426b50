#include "sim/nodes/database.hpp"

namespace psim {

void run_database(JobContext& job) {
  for (;;) {
    const Message message = job.network.receive(job.plan.database());
    job.recorder.causes().needs_nothing();  // the answer does not depend on earlier requests
    const Fetch& fetch = *message.as<Fetch>();
    job.network.send_once({.from = job.plan.database(),
                           .to = message.from,
                           .body = Samples{.step = fetch.step, .sample_bytes = fetch.sample_bytes}});
  }
}

}  // namespace psim
