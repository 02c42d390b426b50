#include "sim/roles/storage.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <utility>

#include "model/mutant.hpp"

namespace psim {

void run_storage(World& world) {
  std::map<std::uint32_t, Message>& snapshots = world.snapshots;
  const double bandwidth = world.scenario.snapshot.bandwidth.value;
  const auto use_disk = [&](const Message& message) {
    simgrid::s4u::this_actor::sleep_for(static_cast<double>(message.payload) / bandwidth);
  };
  for (;;) {
    Message message = world.network.receive(world.snapshot_node());
    if (message.kind == MessageKind::restore) {
      Message answer{.kind = MessageKind::state, .shard = message.shard};
      if (const auto last = snapshots.find(message.shard); last != snapshots.end()) {
        const Message read = last->second;
        if (!mutant("restore-is-free")) use_disk(read);
        if (snapshots.contains(message.shard)) answer = read;  // else the disk was lost meanwhile
      }
      answer.from = world.snapshot_node();
      answer.to = message.from;
      world.network.send_once(std::move(answer));
    } else if (message.kind == MessageKind::state) {
      if (!mutant("snapshot-is-free")) use_disk(message);
      world.record(EventKind::snapshot, world.snapshot_node(), 0, message.version, message.from, 0,
                   message.shard);
      const auto last = snapshots.find(message.shard);
      if (last == snapshots.end() || last->second.epoch <= message.epoch)
        snapshots.insert_or_assign(message.shard, std::move(message));
    }
  }
}

}  // namespace psim
