#include "sim/nodes/server/storage.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/server/shard_state.hpp"

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

namespace {

void use_disk(JobContext& job, const Message& message, const State& state) {
  const Serving serving(job, job.plan.snapshot_node(), message.sent);
  job.cpus.of(job.plan.snapshot_node())
      .sleep(static_cast<double>(state.bytes) / job.plan.scenario.snapshot.bandwidth.value);
}

// The shard may have been cut since the snapshot. The reader then reads only its own part, which has fewer
// bytes.
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

// The shards with values in this state: its own shard, and the shards that were cut from it since.
std::vector<std::uint32_t> shards_in(const JobContext& job, std::uint32_t shard, const State& state) {
  const Layout* layout = job.state.layouts.newest();
  if (layout == nullptr || !state.shard) return {shard};
  std::vector<std::uint32_t> result;
  const std::vector<Shard>& shards = layout->keys.shards;
  for (std::uint32_t s = 0; s < shards.size(); ++s) {
    if (state.shard->options.part.covers(shards[s].part)) result.push_back(s);
  }
  return result;
}

// Snapshots of the servers' shards.
class ShardStorage {
 public:
  explicit ShardStorage(JobContext& job) : job_(job) {}

  void read(const Message& message, const Restore& request) {
    const ShardSnapshots& snapshots = job_.state.disk.shards;
    Message answer{.from = job_.plan.snapshot_node(), .to = message.from, .shard = message.shard};
    answer.body = State{.entries = 0};
    if (const StoredState* last = snapshots.find(message.shard)) {
      const StoredState snapshot{last->epoch, cut_to(request.part, last->state)};
      use_disk(job_, message, snapshot.state);
      if (snapshots.find(message.shard) != nullptr) {  // otherwise the disk was lost meanwhile
        answer.epoch = snapshot.epoch;
        answer.body = snapshot.state;
      }
    }
    job_.network.send_once(std::move(answer));
  }
  void keep(const Message& message, const State& state) {
    for (const std::uint32_t shard : shards_in(job_, message.shard, state))
      job_.state.disk.shards.keep(shard, {message.epoch, state});
  }

 private:
  JobContext& job_;
};

// Snapshots of workers that hold the model.
class CopyStorage {
 public:
  explicit CopyStorage(JobContext& job) : job_(job) {}

  void read(const Message& message, const Restore&) {
    CopySnapshots& copies = job_.state.disk.copies;
    copies.go_back(message.epoch);
    Message answer{.from = job_.plan.snapshot_node(), .to = message.from, .shard = message.shard};
    State state{.entries = 0};
    if (const StoredState* kept = copies.find(message.shard)) {
      const StoredState snapshot = *kept;
      use_disk(job_, message, snapshot.state);
      if (copies.find(message.shard) != nullptr) {
        answer.epoch = snapshot.epoch;
        state = snapshot.state;
      }
    }
    state.asked_in = message.epoch;
    answer.body = std::move(state);
    job_.network.send_once(std::move(answer));
  }
  void keep(const Message& message, const State& state) {
    job_.state.disk.copies.keep(message.shard, {message.epoch, state});
  }

 private:
  JobContext& job_;
};

template <class Kept>
void run(JobContext& job, Kept kept) {
  for (;;) {
    const Message message = job.network.receive(job.plan.snapshot_node());
    job.recorder.causes().needs_nothing();
    job.recorder.causes().needs(message.because.event);
    if (const Restore* request = message.as<Restore>()) kept.read(message, *request);
    const State* state = message.as<State>();
    if (state == nullptr) continue;
    use_disk(job, message, *state);
    job.record(job.plan.snapshot_node(), Snapshot{message.shard, message.from, state->version});
    kept.keep(message, *state);
  }
}

}  // namespace

void run_storage(JobContext& job) {
  if (job.plan.scenario.architecture.has_servers()) run(job, ShardStorage(job));
  else run(job, CopyStorage(job));
}

}  // namespace psim
