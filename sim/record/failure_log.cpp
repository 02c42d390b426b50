#include "sim/record/failure_log.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace psim {

FailureLog::FailureLog(const std::vector<std::uint32_t>& shard_server, NodeId last_server, NodeId last_peer)
    : last_server_(last_server),
      last_peer_(last_peer),
      epoch_(shard_server.size()),
      version_(shard_server.size()),
      loads_(last_server) {
  for (const std::uint32_t server : shard_server) owner_.push_back(1 + server);
}

void FailureLog::on(const Event& e) {
  using Others = Ignore<Lost, Wait, Acknowledgement, Prediction, Release, PushOutcome, Recount, Copy,
                        ShardPlace, TaskChange>;
  std::visit(
      Overloaded{[&](const Sent& message) {
                   on_send(e.at, message);
                   loads_.on(e.at, message);
                 },
                 [&](const ShardCut& cut) {
                   on_cut(cut);
                   loads_.on(e.at, cut);
                 },
                 [&](const ShardMove& move) { loads_.on(e.at, move); },
                 [&](const Received& message) { on_receipt(message); },
                 [&](const ViewChange&) { on_view(e.at); }, [&](const Repetition&) { ++stats_.repeated; },
                 [&](const SlowWorker& slow) {
                   stats_.slow.push_back({e.at, slow});
                 },
                 [&](const Snapshot&) { ++stats_.snapshots; },
                 [&](const Suspicion& suspicion) { on_suspicion(suspicion.suspect); },
                 [&](const Promotion& promotion) { on_promotion(e, promotion); },
                 [&](const ModelUpdate& update) {
                   if (!update.shard) return on_copy(e.at, update.version);
                   version_[*update.shard] = update.version;
                   look_at_recoveries(e.at, *update.shard);
                 },
                 [&](const FaultChange& fault) { on_fault(e.at, fault); },
                 [&](const Computation& what) {
                   if (what.phase == ComputePhase::begun && what.work == Work::step) on_begin(e.at);
                 },
                 [&](const Participant& one) {
                   if (one.view == 0 && participants_ == 0) on_start(e.at);
                   ++participants_;
                 },
                 [&](const Finish&) { through_.insert(e.node); }, Others{}},
      e.what);
}

// The new shard has no owner until a server is promoted.
void FailureLog::on_cut(const ShardCut& cut) {
  owner_.push_back(scheduler_node);
  epoch_.push_back(epoch_[cut.shard]);
  version_.push_back(version_[cut.shard]);
}

void FailureLog::close(double at) {
  loads_.close(at);
  stats_.rebalances = loads_.all();
}

void FailureLog::on_suspicion(NodeId node) {
  ++stats_.suspicions;
  noticed_.insert(node);
  if (!down_.contains(node)) ++stats_.false_suspicions;
}

void FailureLog::on_promotion(const Event& e, const Promotion& promotion) {
  const std::uint32_t shard = promotion.shard;
  ++stats_.takeovers;
  if (promotion.epoch < epoch_[shard]) return;  // it does not know yet that another owner has followed
  epoch_[shard] = promotion.epoch;
  owner_[shard] = e.node;
  version_[shard] = promotion.version;
  for (Open& open : open_) {
    Recovery& recovery = stats_.recoveries[open.recovery];
    if (open.orphans.erase(shard) == 0 || !open.orphans.empty()) continue;
    recovery.owned = e.at;
    if (!recovery.fetching) recovery.fetching = e.at;
  }
  look_at_recoveries(e.at, shard);
}

// The shards need no recovery any more. A recovery of these shards alone stays unfinished.
void FailureLog::forget(std::uint32_t first_shard, std::uint32_t shards) {
  for (std::uint32_t s = first_shard; s < first_shard + shards; ++s) {
    owner_[s] = scheduler_node;
    for (Open& open : open_) {
      open.behind.erase(s);
      open.orphans.erase(s);
    }
  }
  std::erase_if(open_, [](const Open& open) { return open.behind.empty(); });
}

// Finishes the recoveries that were waiting only for the new version of this shard.
void FailureLog::look_at_recoveries(double at, std::uint32_t shard) {
  for (Open& open : open_) {
    const auto behind = open.behind.find(shard);
    if (open.orphans.contains(shard) || behind == open.behind.end() || version_[shard] < behind->second)
      continue;
    open.behind.erase(behind);
    if (open.behind.empty()) stats_.recoveries[open.recovery].caught_up = at;
  }
  std::erase_if(open_, [](const Open& open) { return open.behind.empty(); });
}

void FailureLog::on_fault(double at, const FaultChange& fault) {
  if (!fault.target) return;
  if (fault.kind->crashes && fault.begins) on_crash(at, *fault.target);
  const bool is_back = fault.kind->crashes && !fault.begins;
  if (is_back || fault.kind->restarts) down_.erase(*fault.target);
}

void FailureLog::on_send(double at, const Sent& message) {
  if (message.kind == MessageKind::replicate) stats_.replication_bytes += message.bytes;
  if (message.kind == MessageKind::state) stats_.state_bytes += message.bytes;
  if (message.kind == MessageKind::heartbeat) stats_.heartbeat_bytes += message.bytes;
  if (message.kind == MessageKind::regroup) on_regroup();
  if (message.kind != MessageKind::restore) return;
  for (const Open& open : open_) {
    std::optional<double>& fetching = stats_.recoveries[open.recovery].fetching;
    if (open.orphans.contains(*message.shard) && !fetching) fetching = at;
  }
}

bool FailureLog::is_unnoticed(NodeId node) const {
  return std::ranges::any_of(stats_.recoveries, [node](const Recovery& recovery) {
    return recovery.node == node && !recovery.detected;
  });
}

// A server that returns before its crash is noticed reports the crash itself. The scheduler accepts a falsely
// suspected server again with the server's next message.
void FailureLog::on_receipt(const Received& message) {
  const bool tells_of_itself = message.kind == MessageKind::join || message.kind == MessageKind::heartbeat ||
                               message.kind == MessageKind::leave;
  if (message.to != scheduler_node || !tells_of_itself || message.from > last_watched()) return;
  through_.erase(message.from);
  announced_.erase(message.from);
  if (!is_unnoticed(message.from)) return;
  noticed_.insert(message.from);
  back_.insert(message.from);
}

void FailureLog::on_view(double at) {
  ++stats_.views;
  participants_ = 0;
  for (Recovery& recovery : stats_.recoveries) {
    const bool is_announced = noticed_.contains(recovery.node);
    if (!recovery.detected && is_announced) recovery.detected = at;
  }
  std::ranges::set_difference(noticed_, back_, std::inserter(announced_, announced_.end()));
  noticed_.clear();
  back_.clear();
}

// The first group knows of workers that crashed before it existed and returned in time.
void FailureLog::on_start(double at) {
  for (Regrouping& one : regroupings_) {
    Recovery& recovery = stats_.recoveries[one.recovery];
    if (recovery.detected || back_.erase(recovery.node) == 0) continue;
    noticed_.erase(recovery.node);
    recovery.detected = at;
    one.has_agreed = true;
  }
}

void FailureLog::on_crash(double at, NodeId node) {
  ++stats_.crashes;
  down_.insert(node);
  noticed_.erase(node);
  back_.erase(node);
  if (node == scheduler_node || node > last_watched() || through_.contains(node)) return;
  if (node <= last_peer_) {
    regroupings_.push_back({.recovery = stats_.recoveries.size(), .version = newest_copy_});
    stats_.recoveries.push_back({.node = node, .crash = at, .is_worker = true});
    if (announced_.contains(node)) stats_.recoveries.back().detected = at;
    return;
  }
  Open open{.recovery = stats_.recoveries.size(), .behind = {}, .orphans = {}};
  for (std::uint32_t s = 0; s < owner_.size(); ++s) {
    if (owner_[s] != node) continue;
    open.behind[s] = version_[s];
    open.orphans.insert(s);
  }
  if (open.orphans.empty()) return;
  stats_.recoveries.push_back({.node = node, .crash = at});
  if (announced_.contains(node)) stats_.recoveries.back().detected = at;  // it was already suspected
  open_.push_back(std::move(open));
}

void FailureLog::on_regroup() {
  for (Regrouping& one : regroupings_)
    one.has_agreed = one.has_agreed || stats_.recoveries[one.recovery].detected.has_value();
}

// A single worker needs no agreement.
void FailureLog::on_begin(double at) {
  for (const Regrouping& one : regroupings_) {
    Recovery& recovery = stats_.recoveries[one.recovery];
    const bool is_group = one.has_agreed || (recovery.detected && participants_ == 1);
    if (is_group && !recovery.reformed) recovery.reformed = at;
  }
}

// Copies differ by at most one update, and the latest copy is the newest.
void FailureLog::on_copy(double at, std::int64_t version) {
  newest_copy_ = version;
  for (const Regrouping& one : regroupings_) {
    Recovery& recovery = stats_.recoveries[one.recovery];
    if (recovery.reformed && version > one.version) recovery.caught_up = at;
  }
  std::erase_if(regroupings_, [this](const Regrouping& one) {
    return stats_.recoveries[one.recovery].caught_up.has_value();
  });
}

void LoadLog::on(double, const Sent& message) {
  if (message.kind != MessageKind::push && message.kind != MessageKind::weights) return;
  const NodeId server = message.kind == MessageKind::push ? message.to : message.from;
  if (server > 0 && server <= values_.size()) values_[server - 1] += message.values;
}

void LoadLog::on(double at, const ShardCut& cut) { ++of_view(at, cut.view).cuts; }

void LoadLog::on(double at, const ShardMove& move) {
  Rebalancing& here = of_view(at, move.view);
  ++here.shards;
  here.values += move.values;
}

Rebalancing& LoadLog::of_view(double at, std::int64_t view) {
  if (!all_.empty() && all_.back().view == view) return all_.back();
  std::vector<double> rates = take_rates(at);
  if (!all_.empty()) all_.back().after = rates;
  return all_.emplace_back(Rebalancing{.at = at, .view = view, .before = std::move(rates)});
}

std::vector<double> LoadLog::take_rates(double at) {
  std::vector<double> rates;
  for (std::uint64_t& values : values_) {
    rates.push_back(at > since_ ? static_cast<double>(values) / (at - since_) : 0);
    values = 0;
  }
  since_ = at;
  return rates;
}

void LoadLog::close(double at) {
  if (!all_.empty()) all_.back().after = take_rates(at);
}

}  // namespace psim
