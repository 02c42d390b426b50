#include "sim/roles/storage.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <utility>

#include "model/mutant.hpp"

namespace psim {

void run_storage(JobContext& job) {
  std::map<std::uint32_t, JobState::Snapshot>& snapshots = job.state.snapshots;
  const double bandwidth = job.plan.scenario.snapshot.bandwidth.value;
  const auto use_disk = [&](const State& state) {
    simgrid::s4u::this_actor::sleep_for(static_cast<double>(state.bytes) / bandwidth);
  };
  const auto read = [&](const Message& message) {
    Message answer{.from = job.plan.snapshot_node(), .to = message.from, .shard = message.shard};
    answer.body = State{.entries = 0};
    if (const auto last = snapshots.find(message.shard); last != snapshots.end()) {
      const JobState::Snapshot snapshot = last->second;
      if (!mutant("restore-is-free")) use_disk(snapshot.state);
      if (snapshots.contains(message.shard)) {  // else the disk was lost meanwhile
        answer.epoch = snapshot.epoch;
        answer.body = snapshot.state;
      }
    }
    job.network.send_once(std::move(answer));
  };
  const auto write = [&](const Message& message, const State& state) {
    if (!mutant("snapshot-is-free")) use_disk(state);
    job.record(job.plan.snapshot_node(), Snapshot{message.shard, message.from, state.version});
    const auto last = snapshots.find(message.shard);
    if (last == snapshots.end() || last->second.epoch <= message.epoch)
      snapshots.insert_or_assign(message.shard, JobState::Snapshot{message.epoch, state});
  };
  for (;;) {
    const Message message = job.network.receive(job.plan.snapshot_node());
    if (message.is<Restore>()) read(message);
    if (const State* state = message.as<State>()) write(message, *state);
  }
}

}  // namespace psim
