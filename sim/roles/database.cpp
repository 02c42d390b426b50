#include "sim/roles/database.hpp"

namespace psim {

void run_database(World& world) {
  for (;;) {
    const Message fetch = world.network.receive(world.database());
    world.network.send({.kind = MessageKind::samples,
                        .from = world.database(),
                        .to = fetch.from,
                        .number = fetch.number,
                        .payload = fetch.wanted});
  }
}

}  // namespace psim
