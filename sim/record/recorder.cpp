#include "sim/record/recorder.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "model/mutant.hpp"
#include "sim/scenario/spec/faults.hpp"

namespace psim {

std::int64_t RunStats::updates(std::size_t space) const {
  if (!shard_updates.empty()) {
    const std::span all(shard_updates);
    return std::ranges::min(
        spaces.size() <= 1 ? all : all.subspan(spaces[space].first_shard, spaces[space].shards));
  }
  return workers.empty() ? 0 : std::ranges::min(workers, {}, &WorkerStats::updates).updates;
}

std::int64_t RunStats::server_updates(std::uint32_t server) const {
  std::optional<std::int64_t> least;
  for (std::size_t s = 0; s < shard_updates.size(); ++s) {
    if (shard_owner[s] == server) least = std::min(least.value_or(shard_updates[s]), shard_updates[s]);
  }
  return least.value_or(0);
}

std::int64_t RunStats::clocks() const {
  std::int64_t total = 0;
  for (const WorkerStats& worker : workers) total += worker.clocks;
  return total;
}

std::int64_t RunStats::clocks(const SpaceStats& space) const {
  std::int64_t total = 0;
  for (const WorkerStats& worker : std::span(workers).subspan(space.first_worker, space.workers))
    total += worker.clocks;
  return total;
}

std::int64_t RunStats::first_clocks(const SpaceStats& space) const {
  return std::ranges::count_if(std::span(workers).subspan(space.first_worker, space.workers),
                               [](const WorkerStats& worker) { return worker.clocks > 0; });
}

std::uint64_t RunStats::bytes_of(const SpaceStats& space) const {
  if (spaces.size() <= 1) return bytes_sent;
  std::uint64_t bytes = 0;
  for (const GroupStats& group : groups) {
    const bool here =
        group.first_worker >= space.first_worker && group.first_worker < space.first_worker + space.workers;
    bytes += here ? group.bytes_sent : 0;
  }
  return bytes;
}

double RunStats::staleness_mean() const {
  return pushes_applied == 0
             ? 0
             : staleness_sum / static_cast<double>(mutant("staleness-of-all-that-came") ? pushes_arrived
                                                                                        : pushes_applied);
}

Recorder::Recorder(std::size_t servers, std::size_t workers, std::vector<std::uint32_t> shard_server)
    : owner_epoch_(shard_server.size()), state_(XXH3_createState()) {
  stats_.workers.resize(workers);
  for (WorkerStats& worker : stats_.workers) books_.emplace_back(worker, stats_.last_work);
  stats_.servers.resize(servers);
  stats_.shard_updates.resize(shard_server.size());
  furthest_.assign(shard_server.size(), {.pushes = std::vector<std::int64_t>(workers)});
  furthest_clock_.resize(workers);
  stats_.shard_owner.assign(shard_server.begin(), shard_server.end());
  stats_.shard_server = std::move(shard_server);
  split({{.workers = static_cast<std::uint32_t>(workers),
          .shards = static_cast<std::uint32_t>(stats_.shard_server.size())}},
        {});
  XXH3_128bits_reset(state_);
}

Recorder::~Recorder() { XXH3_freeState(state_); }

void Recorder::split(std::vector<SpaceStats> spaces, std::vector<GroupStats> groups) {
  stats_.spaces = std::move(spaces);
  stats_.groups = std::move(groups);
  const auto numbers = [](const auto& parts) {
    std::vector<std::uint32_t> of_worker;
    for (std::uint32_t i = 0; i < parts.size(); ++i) of_worker.insert(of_worker.end(), parts[i].workers, i);
    return of_worker;
  };
  space_of_ = numbers(stats_.spaces);
  group_of_ = numbers(stats_.groups);
}

void Recorder::record(const Event& event) {
  const std::uint64_t hash = hash_of(event);
  hashes_.push_back(hash);
  if (hashes_.size() == 1024) {
    XXH3_128bits_update(state_, hashes_.data(), hashes_.size() * sizeof hash);
    hashes_.clear();
  }
  ++stats_.events;
  for (EventSink* sink : sinks_) sink->on(event, hash);
  if (failures_) failures_->on(event);
  if (!group_of_.empty()) count_group(event);

  switch (event.kind) {
    case EventKind::send: on_send(event); break;
    case EventKind::deliver:
      ++stats_.delivered;
      stats_.bytes_received += (mutant("bytes-counted-twice") ? 2 : 1) * event.bytes;
      if (is_server(event.node)) stats_.servers[event.node - 1].bytes_received += event.bytes;
      if (event.message == MessageKind::push) ++stats_.pushes_arrived;
      flight(event, -1);
      break;
    case EventKind::lose:
      ++stats_.lost;
      stats_.bytes_lost += event.bytes;
      flight(event, -1);
      break;
    case EventKind::apply:
      ++stats_.pushes_applied;
      ++stats_.servers[event.node - 1].pushes;
      stats_.staleness_sum += static_cast<double>(event.value);
      stats_.staleness_max = std::max(stats_.staleness_max, event.value);
      stats_.last_work = event.at;
      look_for_new(event);
      break;
    case EventKind::drop:
      ++stats_.pushes_dropped;
      if (event.value == 1) ++stats_.pushes_unused;
      else if (event.value > 1) ++(event.value == 2 ? stats_.pushes_duplicate : stats_.pushes_refused);
      break;
    case EventKind::update:
      stats_.last_work = event.at;
      advance(event);
      (is_worker(event.node) ? stats_.workers[worker_index(event.node)].updates
                             : stats_.shard_updates[event.shard]) = event.version;
      break;
    case EventKind::answer:
    case EventKind::acked:
    case EventKind::repeat:
    case EventKind::suspect:
    case EventKind::view:
    case EventKind::copied:
    case EventKind::snapshot: break;
    case EventKind::promote: on_promote(event); break;
    case EventKind::fault: on_fault(event); break;
    case EventKind::member: books_[worker_index(event.peer)].on_member(event.clock == 1); break;
    default: count_worker(event);
  }
}

void Recorder::on_send(const Event& event) {
  ++stats_.messages;
  stats_.bytes_sent += event.bytes;
  stats_.bytes_of_kind[static_cast<std::size_t>(event.message)] += event.bytes;
  if (is_server(event.node)) stats_.servers[event.node - 1].bytes_sent += event.bytes;
  flight(event, 1);
  if (event.message == MessageKind::join && is_worker(event.node))
    books_[worker_index(event.node)].on_join(event.at);
}

// A push that is applied again, as at-least-once allows, is none.
void Recorder::look_for_new(const Event& applied) {
  Furthest& shard = furthest_[applied.shard];
  std::int64_t& pushes = shard.pushes[worker_index(applied.peer)];
  const auto number = static_cast<std::int64_t>(applied.bytes);
  shard.has_new_push = shard.has_new_push || number >= pushes;
  pushes = std::max(pushes, number + 1);
}

void Recorder::advance(const Event& update) {
  if (update.shard >= furthest_.size()) return;
  Furthest& shard = furthest_[update.shard];
  const bool has_new_push = std::exchange(shard.has_new_push, false);
  if (update.version <= shard.updates) return;
  shard.updates = update.version;
  if (!has_new_push) return;
  stats_.last_progress = update.at;
  stats_.begun_in_time = stats_.begun;
  ++stats_.advances;
}

void Recorder::flight(const Event& event, int change) {
  for (const NodeId node : {event.node, event.peer}) {
    if (is_worker(node)) books_[worker_index(node)].on_message(event.at, change);
  }
}

void Recorder::count_worker(const Event& event) {
  if (event.kind != EventKind::compute_cancel) stats_.last_work = stats_.last_progress = event.at;
  WorkerBook& book = books_[worker_index(event.node)];
  book.on_work(event);
  std::int64_t& furthest = furthest_clock_[worker_index(event.node)];
  if (event.clock > furthest) {
    furthest = event.clock;
    ++stats_.advances;
  }
  if (event.kind != EventKind::compute_begin) return;
  ++stats_.begun;
  const std::int64_t slowest = slowest_beside(static_cast<std::uint32_t>(worker_index(event.node)));
  stats_.least_clock = std::min(stats_.least_clock, event.clock);
  stats_.clock_gap_max = std::max(stats_.clock_gap_max, book.clock() - slowest);
}

void Recorder::on_fault(const Event& event) {
  if (!FaultKind::at(static_cast<std::size_t>(event.value))->crashes || event.version != 1) return;
  if (is_worker(event.node)) books_[worker_index(event.node)].on_crash(event.at);
  if (!is_server(event.node)) return;
  for (std::optional<std::uint32_t>& owner : stats_.shard_owner) {
    if (owner == event.node - 1) owner.reset();
  }
}

// The owner of the latest epoch is the one that counts, whatever an earlier one believes.
void Recorder::on_promote(const Event& event) {
  stats_.pushes_arrived += event.content.ids;  // the last owner has dropped them
  if (event.clock < owner_epoch_[event.shard]) return;
  owner_epoch_[event.shard] = event.clock;
  stats_.shard_owner[event.shard] = event.node - 1;
}

// Of the workers of its namespace that take part, itself included.
std::int64_t Recorder::slowest_beside(std::uint32_t worker) const {
  const SpaceStats& space = stats_.spaces[space_of_[worker]];
  std::int64_t slowest = books_[worker].clock();
  for (const WorkerBook& book : std::span(books_).subspan(space.first_worker, space.workers)) {
    if (book.takes_part()) slowest = std::min(slowest, book.clock());
  }
  return slowest;
}

// A message between a worker and anybody else belongs to the worker's group.
void Recorder::count_group(const Event& event) {
  const NodeId worker = is_worker(event.node) ? event.node : event.peer;
  if (!is_worker(worker)) return;
  GroupStats& group = stats_.groups[group_of_[worker_index(worker)]];
  if (event.kind == EventKind::send) {
    ++group.messages;
    group.bytes_sent += event.bytes;
  } else if (event.kind == EventKind::apply) {
    ++group.pushes_applied;
    group.staleness_sum += static_cast<double>(event.value);
    group.staleness_max = std::max(group.staleness_max, event.value);
  } else if (event.kind == EventKind::drop) {
    ++group.pushes_dropped;
  } else if (event.kind == EventKind::finish) {
    group.finished = event.at;
  }
}

void Recorder::stop(NodeId worker, double at) {
  WorkerBook& book = books_[worker_index(worker)];
  const bool was_open = book.is_open();
  book.close(at);
  if (was_open && !group_of_.empty()) stats_.groups[group_of_[worker_index(worker)]].finished = at;
}

void Recorder::close(double at) {
  for (std::size_t w = 0; w < stats_.workers.size(); ++w)
    stop(static_cast<NodeId>(1 + stats_.servers.size() + w), at);
}

void Recorder::add_to_digest(const void* data, std::size_t bytes) {
  XXH3_128bits_update(state_, hashes_.data(), hashes_.size() * sizeof(std::uint64_t));
  hashes_.clear();
  XXH3_128bits_update(state_, data, bytes);
}

std::string Recorder::digest() const {
  // On a copy: the events that are not in the state yet belong to it too.
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> copy(XXH3_createState(), XXH3_freeState);
  XXH3_copyState(copy.get(), state_);
  if (!mutant("digest-lacks-the-last-events"))
    XXH3_128bits_update(copy.get(), hashes_.data(), hashes_.size() * sizeof(std::uint64_t));
  const XXH128_hash_t hash = XXH3_128bits_digest(copy.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace psim
