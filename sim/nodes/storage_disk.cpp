#include "sim/nodes/storage_disk.hpp"

#include <algorithm>

namespace psim {

const StoredState* ShardSnapshots::find(std::uint32_t shard) const {
  const auto last = snapshots_.find(shard);
  return last == snapshots_.end() ? nullptr : &last->second;
}

void ShardSnapshots::keep(std::uint32_t shard, const StoredState& snapshot) {
  const StoredState* last = find(shard);
  if (last == nullptr || last->epoch <= snapshot.epoch) snapshots_.insert_or_assign(shard, snapshot);
}

void ShardSnapshots::cut(std::uint32_t shard, std::uint32_t upper) {
  if (const StoredState* whole = find(shard)) snapshots_.insert_or_assign(upper, StoredState(*whole));
}

void CopySnapshots::go_back(std::uint32_t group) {
  if (used_ && group <= group_) return;
  group_ = group;
  used_ = newest();
}

const StoredState* CopySnapshots::find(std::uint32_t part) const {
  const auto versions = copies_.find(part);
  if (versions == copies_.end()) return nullptr;
  const auto one = versions->second.find(*used_);
  return one == versions->second.end() ? nullptr : &one->second;
}

void CopySnapshots::keep(std::uint32_t part, const StoredState& copy) {
  copies_[part].insert_or_assign(copy.state.version, copy);
  const std::int64_t whole = newest(), used = used_.value_or(-1);
  for (auto& [number, versions] : copies_)
    std::erase_if(versions, [&](const auto& one) { return one.first < whole && one.first != used; });
}

std::int64_t CopySnapshots::newest() const {
  if (copies_.size() < parts_) return -1;
  const auto& some = copies_.rbegin()->second;
  for (auto one = some.rbegin(); one != some.rend(); ++one) {
    const bool is_whole =
        std::ranges::all_of(copies_, [&](const auto& part) { return part.second.contains(one->first); });
    if (is_whole) return one->first;
  }
  return -1;
}

}  // namespace psim
