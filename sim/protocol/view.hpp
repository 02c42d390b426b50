// The members of the cluster and the owner of each shard, as the scheduler announces them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/protocol/ids.hpp"
#include "sim/protocol/part.hpp"

namespace psim {

struct Layout;

// The owner of one shard. A new primary starts a new epoch, and nodes ignore messages of other epochs. So a
// former primary that does not know its successor can do no harm.
struct Owner {
  NodeId primary = 0;  // 0, the scheduler's number: the shard has no owner, because its job has ended
  std::uint32_t epoch = 0;
  std::vector<NodeId> replicas = {};
  // Former primaries that are still alive, the newest first. The primary asks them for the shard's state.
  // With hand_over = "stop-and-copy" there may be several, because the newest may not have received the state
  // from the primary before it.
  std::vector<NodeId> from = {};
  NodeId next = 0;  // becomes the primary when it has the primary's state; the primary serves until then
  bool was_primary(NodeId node) const { return std::ranges::find(from, node) != from.end(); }
};

struct View {
  std::int64_t number = 0;
  std::vector<Owner> owners;                  // by shard
  std::vector<bool> workers;                  // whether each worker takes part
  std::vector<Cut> cuts = {};                 // since the plan, one after the other
  std::shared_ptr<const Layout> layout = {};  // the key space after these cuts; null: nothing was cut
  std::uint64_t bytes() const;                // on the network
};

}  // namespace psim
