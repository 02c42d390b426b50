#include "sim/protocol/server/shard_context.hpp"

namespace psim {

bool ShardContext::skip_lost(std::uint32_t worker, std::int64_t oldest_resendable) const {
  if (!state.workers.skip_to(worker, oldest_resendable)) return false;
  if (LogEntry* entry = replication.next_entry())
    entry->skipped.push_back({state.node_of(worker), oldest_resendable});
  state.workers.find_slowest();
  tell_membership(worker);
  return true;
}

void ShardContext::end_rejoining(std::uint32_t worker) const {
  state.workers.is_back(worker);
  if (LogEntry* entry = replication.next_entry())
    entry->skipped_clocks.push_back({state.node_of(worker), state.workers[worker].skipped_clocks});
  tell_membership(worker);
}

}  // namespace psim
