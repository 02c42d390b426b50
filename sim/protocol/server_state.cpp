// A shard's state as it travels to a replica, to the next owner or to the storage: what is in it, and how
// many bytes that takes.
#include <memory>
#include <utility>

#include "sim/protocol/server.hpp"

namespace psim {

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
  early_.clear();
  log_.clear();
  log_.clear_past();
  if (!log_.has_pushes()) forget_pending();
}

// What waits for its group is to come again, though a later push may have been dropped.
void Server::forget_pending() {
  for (const Push& push : pending()) workers_.forget_from(index_of(push.worker), push.number);
  workers_.forget_arrived();
  updates_.clear();
}

// Weights and what belongs to them; a count for each worker and range of keys; pushes that wait, as they
// came, and decisions.
std::uint64_t Server::bytes_of_state() const {
  constexpr std::uint64_t per_count = 8;
  return weights_.bytes(version_) + updates_.bytes() + range_clock_.ranges() * workers_.size() * per_count;
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
