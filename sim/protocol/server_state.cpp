// A shard's state as it travels to a replica, to the next owner or to the storage: what is in it, and how
// many bytes that takes.
#include <xxhash.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/protocol/server.hpp"

namespace psim {

std::uint64_t Server::hash_of_state(std::uint64_t hash_of_weights) const {
  if (!parameters_) return 0;
  std::uint64_t hash = hash_of_weights;
  const auto add = [&hash](const void* data, std::size_t bytes) {
    hash = XXH3_64bits_withSeed(data, bytes, hash);
  };
  parameters_.for_each_part_of_state(add);
  add(mean_square_.raw(), mean_square_.bytes());
  return hash;
}

State Server::state() const {
  const auto copy = std::make_shared<Server>(*this);
  copy->keep_state_only();
  return {.version = version_, .entries = entries_, .shard = copy, .bytes = copy->bytes_of_state()};
}

// Whoever gets the state has its own connections and logs. Where only updates are replicated it has no pushes
// either: their workers send them again.
void Server::keep_state_only() {
  end_log();
  past_log_.clear();
  if (!copies_pushes()) forget_pending();
}

// What waits for its group is to come again, though a later push may have been dropped.
void Server::forget_pending() {
  for (const Push& push : group_) {
    std::int64_t& applied = workers_[index_of(push.worker)].applied;
    applied = std::min(applied, push.number);
  }
  for (WorkerState& worker : workers_) worker.arrived = worker.applied;
  group_.clear();
}

// Weights, optimizer state and a count for each worker and range of keys; of delay compensation, every
// version that a worker may compute on, once, and the mean square; pushes that wait, as they came; decisions.
std::uint64_t Server::bytes_of_state() const {
  constexpr std::uint64_t per_count = 8, per_id = 12;
  const std::uint64_t weights = count_ * bytes_per_value(options_.storage.precision);
  std::set<std::pair<const Values*, std::int64_t>> sent;
  for (const std::deque<Slice>& of_worker : sent_) {
    for (const Slice& slice : of_worker) sent.emplace(slice.values.get(), slice.version);
  }
  sent.erase({parameters_.weights().get(), version_});
  std::uint64_t bytes = weights * (1 + sent.size()) + parameters_.state_bytes() +
                        clocks_.ranges() * workers_.size() * per_count + last_group_.size() * per_id;
  if (options_.delay_compensation_decay > 0)
    bytes += count_ * bytes_per_value(arithmetic_of(options_.storage.precision));
  for (const Push& push : group_) bytes += push.gradient.bytes + per_id;
  for (const Decision& decision : decisions_) bytes += per_count + decision.workers.size() * per_id;
  return bytes;
}

// What a next owner, who has got so far, still lacks: entries of the log where they are kept.
State Server::rest_after(Extent theirs) const {
  const auto first = past_log_.lower_bound(theirs.entries);
  const bool kept = std::distance(first, past_log_.end()) == entries_ - theirs.entries;
  if (theirs.epoch != log_epoch_ || theirs.entries < 0 || !kept) return state();
  auto entries = std::make_shared<std::vector<SharedEntry>>();
  std::uint64_t bytes = 0;
  for (auto entry = first; entry != past_log_.end(); ++entry) {
    bytes += wire_size(Replicate{entry->second});
    entries->push_back(entry->second);
  }
  return {.version = version_, .entries = entries_, .rest = std::move(entries), .bytes = bytes};
}

// Entries of the log that this copy continues.
void Server::take_rest(const std::vector<SharedEntry>& entries) {
  for (const SharedEntry& entry : entries) {
    if (entry->number != entries_) continue;  // it has come by the usual way
    ++entries_;
    take_entry(*entry);
  }
}

}  // namespace psim
