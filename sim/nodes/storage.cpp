#include "sim/nodes/storage.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/server/shard_state.hpp"

namespace psim {
namespace {

void use_disk(JobContext& job, const Message& message, const State& state) {
  const Serving serving(job, job.plan.snapshot_node(), message.sent);
  simgrid::s4u::this_actor::sleep_for(static_cast<double>(state.bytes) /
                                      job.plan.scenario.snapshot.bandwidth.value);
}

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

// Of the shards of servers: the last one that each owner has sent.
class ShardStorage {
 public:
  explicit ShardStorage(JobContext& job) : job_(job) {}

  void read(const Message& message, const Restore& request) {
    auto& snapshots = job_.state.snapshots;
    Message answer{.from = job_.plan.snapshot_node(), .to = message.from, .shard = message.shard};
    answer.body = State{.entries = 0};
    if (const auto last = snapshots.find(message.shard); last != snapshots.end()) {
      const JobState::Snapshot snapshot{last->second.epoch, cut_to(request.part, last->second.state)};
      use_disk(job_, message, snapshot.state);
      if (snapshots.contains(message.shard)) {  // else the disk was lost meanwhile
        answer.epoch = snapshot.epoch;
        answer.body = snapshot.state;
      }
    }
    job_.network.send_once(std::move(answer));
  }
  void keep(const Message& message, const State& state) {
    auto& snapshots = job_.state.snapshots;
    for (const std::uint32_t shard : shards_in(job_, message.shard, state)) {
      const auto last = snapshots.find(shard);
      if (last == snapshots.end() || last->second.epoch <= message.epoch)
        snapshots.insert_or_assign(shard, JobState::Snapshot{message.epoch, state});
    }
  }

 private:
  JobContext& job_;
};

// Of workers that hold the model: they go back together, so all that a group asks for is of one version.
class CopyStorage {
 public:
  explicit CopyStorage(JobContext& job)
      : job_(job),
        parts_(job.plan.scenario.architecture.kind == Architecture::model_parallel ? job.plan.workers() : 1) {
  }

  void read(const Message& message, const Restore&) {
    JobState::GoingBack& last = job_.state.going_back;
    if (!last.version || message.epoch > last.group) last = {message.epoch, newest()};
    Message answer{.from = job_.plan.snapshot_node(), .to = message.from, .shard = message.shard};
    State state{.entries = 0};
    if (const JobState::Snapshot* kept = find(message.shard)) {
      const JobState::Snapshot snapshot = *kept;
      use_disk(job_, message, snapshot.state);
      if (find(message.shard) != nullptr) {
        answer.epoch = snapshot.epoch;
        state = snapshot.state;
      }
    }
    state.asked_in = message.epoch;
    answer.body = std::move(state);
    job_.network.send_once(std::move(answer));
  }
  // Older ones than all parts have are of no use any more, but for one that a group may be reading.
  void keep(const Message& message, const State& state) {
    auto& copies = job_.state.copies;
    copies[message.shard].insert_or_assign(state.version, JobState::Snapshot{message.epoch, state});
    const std::int64_t whole = newest(), used = job_.state.going_back.version.value_or(-1);
    for (auto& [part, versions] : copies)
      std::erase_if(versions, [&](const auto& one) { return one.first < whole && one.first != used; });
  }

 private:
  // The newest version of which every part is there; -1: none.
  std::int64_t newest() const {
    const auto& copies = job_.state.copies;
    if (copies.size() < parts_) return -1;
    const auto& some = copies.rbegin()->second;
    for (auto one = some.rbegin(); one != some.rend(); ++one) {
      const bool is_whole =
          std::ranges::all_of(copies, [&](const auto& part) { return part.second.contains(one->first); });
      if (is_whole) return one->first;
    }
    return -1;
  }
  const JobState::Snapshot* find(std::uint32_t part) const {
    const auto versions = job_.state.copies.find(part);
    if (versions == job_.state.copies.end()) return nullptr;
    const auto one = versions->second.find(*job_.state.going_back.version);
    return one == versions->second.end() ? nullptr : &one->second;
  }

  JobContext& job_;
  std::size_t parts_;
};

template <class Kept>
void run(JobContext& job, Kept kept) {
  for (;;) {
    const Message message = job.network.receive(job.plan.snapshot_node());
    job.recorder.course().needs_nothing();
    job.recorder.course().needs(message.because.event);
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
