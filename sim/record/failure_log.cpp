#include "sim/record/failure_log.hpp"

#include <algorithm>
#include <iterator>

#include "model/mutant.hpp"
#include "sim/scenario/spec/faults.hpp"

namespace psim {

FailureLog::FailureLog(const std::vector<std::uint32_t>& shard_server, NodeId last_server)
    : last_server_(last_server), epoch_(shard_server.size()), version_(shard_server.size()) {
  for (const std::uint32_t server : shard_server) owner_.push_back(1 + server);
}

void FailureLog::on(const Event& e) {
  switch (e.kind) {
    case EventKind::send: return on_send(e);
    case EventKind::deliver: return on_deliver(e);
    case EventKind::view: return on_view(e);
    case EventKind::repeat: ++stats_.repeated; return;
    case EventKind::snapshot: ++stats_.snapshots; return;
    case EventKind::suspect:
      ++stats_.suspicions;
      noticed_.insert(e.peer);
      if (!down_.contains(e.peer) || mutant("every-suspicion-is-false")) ++stats_.false_suspicions;
      return;
    case EventKind::promote:
      ++stats_.takeovers;
      if (e.clock < epoch_[e.shard]) return;  // it has not heard yet that another owner has followed
      epoch_[e.shard] = e.clock;
      owner_[e.shard] = e.node;
      version_[e.shard] = e.version;
      for (Open& open : open_) {
        Recovery& recovery = stats_.recoveries[open.recovery];
        if (open.orphans.erase(e.shard) == 0 || !open.orphans.empty()) continue;
        recovery.owned = e.at;
        if (!recovery.fetching) recovery.fetching = e.at;
      }
      break;
    case EventKind::update: version_[e.shard] = e.version; break;
    case EventKind::fault:
      if (const auto& kind = *FaultKind::at(static_cast<std::size_t>(e.value)); kind.crashes)
        e.version == 1 ? on_crash(e) : on_restart(e);
      else if (kind.restarts) on_restart(e);
      return;
    default: return;
  }
  for (Open& open : open_) {
    const auto behind = open.behind.find(e.shard);
    if (open.orphans.contains(e.shard) || behind == open.behind.end() || version_[e.shard] < behind->second)
      continue;
    open.behind.erase(behind);
    if (open.behind.empty()) stats_.recoveries[open.recovery].caught_up = e.at;
  }
  std::erase_if(open_, [](const Open& open) { return open.behind.empty(); });
}

void FailureLog::on_send(const Event& e) {
  if (e.message == MessageKind::replicate) stats_.replication_bytes += e.bytes;
  if (e.message == MessageKind::state) stats_.state_bytes += e.bytes;
  if (e.message == MessageKind::heartbeat) stats_.heartbeat_bytes += e.bytes;
  if (e.message != MessageKind::restore) return;
  for (const Open& open : open_) {
    std::optional<double>& fetching = stats_.recoveries[open.recovery].fetching;
    if (open.orphans.contains(e.shard) && !fetching) fetching = e.at;
  }
}

bool FailureLog::is_unnoticed(NodeId node) const {
  return std::ranges::any_of(stats_.recoveries, [node](const Recovery& recovery) {
    return recovery.node == node && !recovery.detected;
  });
}

// A server that was away for less time than it takes to notice tells of its crash itself when it is back. One
// that was only suspected is taken back with whatever it says next.
void FailureLog::on_deliver(const Event& e) {
  const bool tells_of_itself = e.message == MessageKind::join || e.message == MessageKind::heartbeat ||
                               e.message == MessageKind::leave;
  if (e.node != scheduler_node || !tells_of_itself || e.peer > last_server_) return;
  announced_.erase(e.peer);
  if (!is_unnoticed(e.peer)) return;
  noticed_.insert(e.peer);
  back_.insert(e.peer);
}

void FailureLog::on_view(const Event& e) {
  ++stats_.views;
  for (Recovery& recovery : stats_.recoveries) {
    const bool is_announced = noticed_.contains(recovery.node) || mutant("any-view-detects");
    if (!recovery.detected && is_announced) recovery.detected = e.at;
  }
  std::ranges::set_difference(noticed_, back_, std::inserter(announced_, announced_.end()));
  noticed_.clear();
  back_.clear();
}

void FailureLog::on_crash(const Event& e) {
  ++stats_.crashes;
  down_.insert(e.node);
  noticed_.erase(e.node);
  back_.erase(e.node);
  if (e.node == 0 || e.node > last_server_) return;
  Open open{.recovery = stats_.recoveries.size(), .behind = {}, .orphans = {}};
  for (std::uint32_t s = 0; s < owner_.size(); ++s) {
    if (owner_[s] != e.node) continue;
    open.behind[s] = mutant("caught-up-at-once") ? 0 : version_[s];
    open.orphans.insert(s);
  }
  if (open.orphans.empty()) return;
  stats_.recoveries.push_back({.node = e.node, .crash = e.at});
  if (announced_.contains(e.node)) stats_.recoveries.back().detected = e.at;  // it was suspected before
  open_.push_back(std::move(open));
}

void FailureLog::on_restart(const Event& e) { down_.erase(e.node); }

}  // namespace psim
