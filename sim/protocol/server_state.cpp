// A shard's state as it travels to a replica, to the next owner or to the storage: what is in it, and how
// many bytes that takes.
#include <xxhash.h>

#include <algorithm>
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
  add(compensation_.mean_square().raw(), compensation_.mean_square().bytes());
  return hash;
}

State Server::state() const {
  const auto copy = std::make_shared<Server>(*this);
  copy->keep_state_only();
  return {
      .version = version_, .entries = log_.extent().entries, .shard = copy, .bytes = copy->bytes_of_state()};
}

// Whoever gets the state has its own connections and logs. Where only updates are replicated it has no pushes
// either: their workers send them again.
void Server::keep_state_only() {
  waiting_.clear();
  log_.clear();
  log_.clear_past();
  if (!log_.has_pushes()) forget_pending();
}

// What waits for its group is to come again, though a later push may have been dropped.
void Server::forget_pending() {
  for (const Push& push : group_) workers_.forget_from(index_of(push.worker), push.number);
  workers_.forget_arrived();
  group_.clear();
}

// Weights, optimizer state and a count for each worker and range of keys; of delay compensation, every
// version that a worker may compute on, once, and the mean square; pushes that wait, as they came; decisions.
std::uint64_t Server::bytes_of_state() const {
  constexpr std::uint64_t per_count = 8, per_id = 12;
  const std::uint64_t weights = count_ * bytes_per_value(options_.storage.precision);
  std::uint64_t bytes = weights * (1 + compensation_.versions_beside(snapshot())) +
                        parameters_.state_bytes() + range_clock_.ranges() * workers_.size() * per_count +
                        last_group_.size() * per_id;
  if (compensation_.adapts()) bytes += count_ * bytes_per_value(arithmetic_of(options_.storage.precision));
  for (const Push& push : group_) bytes += push.gradient.bytes + per_id;
  for (const Decision& decision : decisions_) bytes += per_count + decision.workers.size() * per_id;
  return bytes;
}

State Server::rest_after(Extent theirs) const {
  const std::optional<std::vector<SharedEntry>> rest = log_.rest_after(theirs);
  if (!rest) return state();
  std::uint64_t bytes = 0;
  for (const SharedEntry& entry : *rest) bytes += wire_size(Replicate{entry});
  return {.version = version_,
          .entries = log_.extent().entries,
          .rest = std::make_shared<const std::vector<SharedEntry>>(*rest),
          .bytes = bytes};
}

// Entries of the log that this copy continues; some may have come by the usual way.
void Server::take_rest(const std::vector<SharedEntry>& entries) {
  for (const SharedEntry& entry : entries) {
    if (log_.takes(*entry)) take_entry(*entry);
  }
}

}  // namespace psim
