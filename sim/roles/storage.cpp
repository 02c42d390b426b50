#include "sim/roles/storage.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <utility>

#include "model/mutant.hpp"

namespace psim {

void run_storage(World& world) {
  std::map<std::uint32_t, World::Snapshot>& snapshots = world.snapshots;
  const double bandwidth = world.scenario.snapshot.bandwidth.value;
  const auto use_disk = [&](const State& state) {
    simgrid::s4u::this_actor::sleep_for(static_cast<double>(state.bytes) / bandwidth);
  };
  const auto read = [&](const Message& message) {
    Message answer{.from = world.snapshot_node(), .to = message.from, .shard = message.shard};
    answer.body = State{.entries = 0};
    if (const auto last = snapshots.find(message.shard); last != snapshots.end()) {
      const World::Snapshot snapshot = last->second;
      if (!mutant("restore-is-free")) use_disk(snapshot.state);
      if (snapshots.contains(message.shard)) {  // else the disk was lost meanwhile
        answer.epoch = snapshot.epoch;
        answer.body = snapshot.state;
      }
    }
    world.network.send_once(std::move(answer));
  };
  const auto write = [&](const Message& message, const State& state) {
    if (!mutant("snapshot-is-free")) use_disk(state);
    world.record(world.snapshot_node(), Snapshot{message.shard, message.from, state.version});
    const auto last = snapshots.find(message.shard);
    if (last == snapshots.end() || last->second.epoch <= message.epoch)
      snapshots.insert_or_assign(message.shard, World::Snapshot{message.epoch, state});
  };
  for (;;) {
    const Message message = world.network.receive(world.snapshot_node());
    if (message.is<Restore>()) read(message);
    if (const State* state = message.as<State>()) write(message, *state);
  }
}

}  // namespace psim
