#include "sim/roles/database.hpp"

namespace psim {

void run_database(World& world) {
  for (;;) {
    const Message message = world.network.receive(world.database());
    const Fetch& fetch = *message.as<Fetch>();
    world.network.send({.from = world.database(),
                        .to = message.from,
                        .body = Samples{.step = fetch.step, .sample_bytes = fetch.sample_bytes}});
  }
}

}  // namespace psim
