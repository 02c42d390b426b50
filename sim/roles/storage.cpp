#include "sim/roles/storage.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <utility>
#include <vector>

#include "model/mutant.hpp"
#include "sim/protocol/shard_state.hpp"

namespace psim {

namespace {

// A snapshot may be of a shard that has been cut since: its reader reads its own part, and no more bytes.
State cut_to(const Part& wanted, const State& state) {
  if (!state.shard || state.shard->options.part == wanted || !state.shard->options.part.covers(wanted))
    return state;
  ShardState::Options options = state.shard->options;
  options.part = wanted;
  State part = state;
  part.shard = std::make_shared<const ShardState>(state.shard->piece(std::move(options)));
  part.bytes = part.shard->bytes();
  return part;
}

// The shards whose values it has: of the one that it is of, and of those that were cut from it meanwhile.
std::vector<std::uint32_t> shards_in(const JobContext& job, std::uint32_t shard, const State& state) {
  if (!job.state.layout || !state.shard) return {shard};
  std::vector<std::uint32_t> result;
  const std::vector<Shard>& shards = job.state.layout->keys.shards;
  for (std::uint32_t s = 0; s < shards.size(); ++s) {
    if (state.shard->options.part.covers(shards[s].part)) result.push_back(s);
  }
  return result;
}

}  // namespace

void run_storage(JobContext& job) {
  std::map<std::uint32_t, JobState::Snapshot>& snapshots = job.state.snapshots;
  const double bandwidth = job.plan.scenario.snapshot.bandwidth.value;
  const auto use_disk = [&](const State& state) {
    simgrid::s4u::this_actor::sleep_for(static_cast<double>(state.bytes) / bandwidth);
  };
  const auto read = [&](const Message& message, const Part& wanted) {
    Message answer{.from = job.plan.snapshot_node(), .to = message.from, .shard = message.shard};
    answer.body = State{.entries = 0};
    if (const auto last = snapshots.find(message.shard); last != snapshots.end()) {
      const JobState::Snapshot snapshot{last->second.epoch, cut_to(wanted, last->second.state)};
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
    for (const std::uint32_t shard : shards_in(job, message.shard, state)) {
      const auto last = snapshots.find(shard);
      if (last == snapshots.end() || last->second.epoch <= message.epoch)
        snapshots.insert_or_assign(shard, JobState::Snapshot{message.epoch, state});
    }
  };
  for (;;) {
    const Message message = job.network.receive(job.plan.snapshot_node());
    if (const Restore* request = message.as<Restore>()) read(message, request->part);
    if (const State* state = message.as<State>()) write(message, *state);
  }
}

}  // namespace psim
