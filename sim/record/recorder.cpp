#include "sim/record/recorder.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace psim {

std::int64_t RunStats::updates(std::size_t space) const {
  if (!shard_updates.empty()) {
    const std::span all(shard_updates);
    return std::ranges::min(
        spaces.size() <= 1 ? all : all.subspan(spaces[space].first_shard, spaces[space].shards));
  }
  // A worker that is more than one update behind the first takes no part, or has not joined yet.
  std::int64_t most = 0;
  for (const WorkerStats& worker : workers) most = std::max(most, worker.updates);
  std::int64_t least = most;
  for (const WorkerStats& worker : workers) {
    const bool has_come = worker.starts > 0 || worker.here_at_first;
    if (has_come && worker.updates + 1 >= most) least = std::min(least, worker.updates);
  }
  return least;
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
  return pushes_applied == 0 ? 0 : staleness_sum / static_cast<double>(pushes_applied);
}

Recorder::Recorder(std::size_t servers, std::size_t workers, std::vector<std::uint32_t> shard_server)
    : owner_epoch_(shard_server.size()), state_(XXH3_createState()) {
  stats_.workers.resize(workers);
  for (WorkerStats& worker : stats_.workers) {
    books_.emplace_back(worker, stats_.last_work, least_clock_);
    if (servers == 0) books_.back().has_no_servers();
  }
  last_view_of_.assign(books_.size(), -1);
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

std::uint64_t Recorder::record(Event event, const std::optional<Cause>& cause, const Dependencies& needs) {
  event.cause = book_.of(event, cause);
  const std::uint64_t hash = hash_of(event);
  hashes_.push_back(hash);
  if (hashes_.size() == 1024) {
    XXH3_128bits_update(state_, hashes_.data(), hashes_.size() * sizeof hash);
    hashes_.clear();
  }
  const std::uint64_t number = stats_.events++;
  if (is_beside(event)) ++stats_.events_beside;
  for (EventSink* sink : sinks_) sink->on(event, hash);
  book_.go_on(event, number, needs, sinks_);
  if (failures_) failures_->on(event);
  if (!group_of_.empty()) count_group(event);
  using Others = Ignore<Repetition, Wait, Acknowledgement, Prediction, Release, Copy, Snapshot, Suspicion,
                        ViewChange, ShardPlace, TaskChange, SlowWorker, ShardMove>;
  std::visit(Overloaded{[&](const OneOf<Sent, Received, Lost, Computation, Finish, PushOutcome, ModelUpdate,
                                        Recount, Promotion, FaultChange, ShardCut, Participant> auto& what) {
                          on(event, what);
                        },
                        Others{}},
             event.what);
  if (spans_) {
    if (event.as<Wait>() != nullptr) books_[worker_index(event.node)].mark(event.at);
    spans_->on(event, number);
  }
  return number;
}

void Recorder::keep_spans() {
  const auto first = static_cast<NodeId>(1 + stats_.servers.size());
  spans_.emplace(first, static_cast<NodeId>(first + books_.size()), stats_.last_work,
                 [this](NodeId node, const Span& span) {
                   for (EventSink* sink : sinks_) sink->on_span(node, span);
                 });
  for (std::size_t w = 0; w < books_.size(); ++w)
    books_[w].keep_spans(*spans_, static_cast<NodeId>(first + w));
}

bool Recorder::is_beside(const Event& event) const {
  if (event.node >= beside_) return true;
  return std::visit(Overloaded{[this](const OneOf<Sent, Received, Lost> auto& message) {
                                 return std::max(message.from, message.to) >= beside_;
                               },
                               [](const auto&) { return false; }},
                    event.what);
}

void Recorder::on(const Event& event, const Sent& message) {
  ++stats_.messages;
  stats_.bytes_sent += message.bytes;
  stats_.bytes_of_kind[static_cast<std::size_t>(message.kind)] += message.bytes;
  if (is_server(event.node)) stats_.servers[event.node - 1].bytes_sent += message.bytes;
  flight(event.at, message.from, message.to, 1);
  if (message.kind == MessageKind::join && is_worker(event.node))
    books_[worker_index(event.node)].on_join(event.at);
}

void Recorder::on(const Event& event, const Received& message) {
  ++stats_.delivered;
  stats_.bytes_received += message.bytes;
  if (is_server(event.node)) stats_.servers[event.node - 1].bytes_received += message.bytes;
  if (message.kind == MessageKind::push) ++stats_.pushes_arrived;
  flight(event.at, message.from, message.to, -1);
}

void Recorder::on(const Event& event, const Lost& message) {
  ++stats_.lost;
  stats_.bytes_lost += message.bytes;
  flight(event.at, message.from, message.to, -1);
}

// A dropped push would have made the next version, so its staleness counts up to the current version.
void Recorder::count_staleness(const PushOutcome& push) {
  StalenessCounts& own = stats_.workers[worker_index(push.worker)].staleness;
  if (push.outcome == Outcome::applied) {
    ++own.applied[*push.staleness];
    ++stats_.staleness_counts.applied[*push.staleness];
  } else if (push.outcome == Outcome::late) {
    const std::int64_t age = std::max<std::int64_t>(0, stats_.shard_updates[push.shard] - push.version);
    ++own.dropped[age];
    ++stats_.staleness_counts.dropped[age];
  }
}

void Recorder::on(const Event& event, const PushOutcome& push) {
  count_staleness(push);
  if (push.outcome == Outcome::applied || push.outcome == Outcome::late) {
    const std::size_t worker = worker_index(push.worker);
    torn_.on_part(worker, push.push, push.outcome == Outcome::applied,
                  stats_.spaces[space_of_[worker]].shards);
    stats_.torn = torn_.count();
  }
  if (push.outcome == Outcome::applied) {
    ++stats_.pushes_applied;
    ++stats_.servers[event.node - 1].pushes;
    stats_.staleness_sum += static_cast<double>(*push.staleness);
    stats_.staleness_max = std::max(stats_.staleness_max, *push.staleness);
    stats_.last_work = event.at;
    const std::size_t worker = worker_index(push.worker);
    stats_.spaces[space_of_[worker]].samples_used += books_[worker].on_applied(push.clock);
    return look_for_new(push);
  }
  if (push.outcome == Outcome::late) books_[worker_index(push.worker)].on_dropped(push.clock);
  ++stats_.pushes_dropped;
  if (push.outcome == Outcome::unused) ++stats_.pushes_unused;
  if (push.outcome == Outcome::duplicate) ++stats_.pushes_duplicate;
  if (push.outcome == Outcome::refused) ++stats_.pushes_refused;
}

void Recorder::on(const Event& event, const ModelUpdate& update) {
  stats_.last_work = event.at;
  if (!update.shard) {
    const std::size_t worker = worker_index(event.node);
    stats_.workers[worker].updates = update.version;
    stats_.spaces[space_of_[worker]].samples_used += books_[worker].on_own_update();
    if (update.version > furthest_copy_) {
      furthest_copy_ = update.version;
      got_further(event.at);
    }
    return;
  }
  advance(event.at, *update.shard, update.version);
  stats_.shard_updates[*update.shard] = update.version;
}

void Recorder::on(const Event&, const Recount& worker) {
  books_[worker_index(worker.worker)].on_member(worker.takes_part && worker.is_awaited);
}

// Without servers there is no `Recount`: a worker was away if the view before this one does not have it.
void Recorder::on(const Event&, const Participant& one) {
  if (one.view > view_) last_view_ = std::exchange(view_, one.view);
  std::int64_t& last = last_view_of_[worker_index(one.worker)];
  if (stats_.servers.empty() && last < last_view_) books_[worker_index(one.worker)].on_member(false);
  last = one.view;
}

// Under at-least-once a push may be applied again; then it is not new.
void Recorder::look_for_new(const PushOutcome& applied) {
  Furthest& shard = furthest_[applied.shard];
  std::int64_t& pushes = shard.pushes[worker_index(applied.worker)];
  shard.has_new_push = shard.has_new_push || applied.push >= pushes;
  pushes = std::max(pushes, applied.push + 1);
}

void Recorder::advance(double at, std::uint32_t number, std::int64_t version) {
  Furthest& shard = furthest_[number];
  const bool has_new_push = std::exchange(shard.has_new_push, false);
  if (version <= shard.updates) return;
  shard.updates = version;
  if (has_new_push) got_further(at);
}

void Recorder::got_further(double at) {
  stats_.last_progress = at;
  stats_.begun_in_time = stats_.begun;
  ++stats_.advances;
}

void Recorder::flight(double at, NodeId from, NodeId to, int change) {
  for (const NodeId node : {from, to}) {
    if (is_worker(node)) books_[worker_index(node)].on_message(at, change);
  }
}

void Recorder::on(const Event& event, const Computation& what) {
  if (what.phase != ComputePhase::cancelled && what.phase != ComputePhase::killed)
    stats_.last_work = stats_.last_progress = event.at;
  books_[worker_index(event.node)].on_computation(event.at, what);
  if (!what.clock) return;
  reached(event.node, *what.clock);
  if (what.work == Work::step && what.phase == ComputePhase::begun) begins(what, event.node);
}

void Recorder::on(const Event& event, const Finish& what) {
  stats_.last_work = stats_.last_progress = event.at;
  books_[worker_index(event.node)].on_finish(event.at, what);
  reached(event.node, what.clock);
}

void Recorder::reached(NodeId worker, std::int64_t clock) {
  std::int64_t& furthest = furthest_clock_[worker_index(worker)];
  if (clock <= furthest) return;
  furthest = clock;
  ++stats_.advances;
}

void Recorder::begins(const Computation& step, NodeId worker) {
  ++stats_.begun;
  stats_.least_clock = std::min(stats_.least_clock, *step.clock);
  const auto index = static_cast<std::uint32_t>(worker_index(worker));
  const std::int64_t clock = books_[index].clock();
  if (clock - least_clock_ <= stats_.clock_gap_max) return;
  stats_.clock_gap_max = std::max(stats_.clock_gap_max, clock - slowest_beside(index));
  least_clock_ = clock;
  for (const WorkerBook& book : books_) {
    if (book.takes_part()) least_clock_ = std::min(least_clock_, book.clock());
  }
}

void Recorder::on(const Event& event, const FaultChange& fault) {
  if (!fault.kind->crashes || !fault.begins || !fault.target) return;
  if (is_worker(*fault.target)) books_[worker_index(*fault.target)].on_crash(event.at);
  if (!is_server(*fault.target)) return;
  for (std::optional<std::uint32_t>& owner : stats_.shard_owner) {
    if (owner == *fault.target - 1) owner.reset();
  }
}

// Only the owner of the latest epoch counts. An earlier owner may still believe that it owns the shard.
void Recorder::on(const Event& event, const Promotion& owner) {
  stats_.pushes_arrived += owner.waiting_pushes;  // the last owner has dropped them
  if (owner.epoch < owner_epoch_[owner.shard]) return;
  owner_epoch_[owner.shard] = owner.epoch;
  stats_.shard_owner[owner.shard] = event.node - 1;
  std::int64_t& updates = stats_.shard_updates[owner.shard];
  if (owner.shard < stats_.shard_server.size()) {
    updates = owner.version;  // less than before if the last owner's newest updates are lost
    return;
  }
  // Before the first owner knew of the cut, its updates changed both parts.
  updates = std::max(updates, owner.version);
  furthest_[owner.shard].updates = std::max(furthest_[owner.shard].updates, updates);
}

void Recorder::on(const Event&, const ShardCut& cut) {
  stats_.shard_updates.push_back(stats_.shard_updates[cut.shard]);
  stats_.shard_owner.push_back(stats_.shard_owner[cut.shard]);
  owner_epoch_.push_back(owner_epoch_[cut.shard]);
  furthest_.push_back(Furthest(furthest_[cut.shard]));
  ++stats_.spaces.front().shards;
}

// The lowest clock of the participating workers of its namespace, itself included.
std::int64_t Recorder::slowest_beside(std::uint32_t worker) const {
  const SpaceStats& space = stats_.spaces[space_of_[worker]];
  std::int64_t slowest = books_[worker].clock();
  for (const WorkerBook& book : std::span(books_).subspan(space.first_worker, space.workers)) {
    if (book.takes_part()) slowest = std::min(slowest, book.clock());
  }
  return slowest;
}

GroupStats* Recorder::group_of(NodeId node) {
  return is_worker(node) ? &stats_.groups[group_of_[worker_index(node)]] : nullptr;
}

// A message from or to a worker belongs to the worker's group.
void Recorder::count_group(const Event& event) {
  if (const Sent* message = event.as<Sent>()) {
    GroupStats* group = group_of(is_worker(message->from) ? message->from : message->to);
    if (group == nullptr) return;
    ++group->messages;
    group->bytes_sent += message->bytes;
  } else if (const PushOutcome* push = event.as<PushOutcome>()) {
    GroupStats& group = *group_of(push->worker);
    if (push->outcome != Outcome::applied) {
      ++group.pushes_dropped;
      return;
    }
    ++group.pushes_applied;
    group.staleness_sum += static_cast<double>(*push->staleness);
    group.staleness_max = std::max(group.staleness_max, *push->staleness);
  } else if (event.as<Finish>() != nullptr) {
    group_of(event.node)->finished = event.at;
  }
}

void Recorder::stop(NodeId worker, double at) {
  WorkerBook& book = books_[worker_index(worker)];
  const bool was_open = book.is_open();
  book.close(at);
  if (was_open && !group_of_.empty()) stats_.groups[group_of_[worker_index(worker)]].finished = at;
}

void Recorder::close(double at) {
  if (failures_) failures_->close(at);
  for (std::size_t w = 0; w < stats_.workers.size(); ++w)
    stop(static_cast<NodeId>(1 + stats_.servers.size() + w), at);
  if (spans_) spans_->close(at);
}

void Recorder::add_to_digest(const void* data, std::size_t bytes) {
  XXH3_128bits_update(state_, hashes_.data(), hashes_.size() * sizeof(std::uint64_t));
  hashes_.clear();
  XXH3_128bits_update(state_, data, bytes);
}

std::string Recorder::digest() const {
  // Works on a copy, which also takes the events that are not in the state yet.
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> copy(XXH3_createState(), XXH3_freeState);
  XXH3_copyState(copy.get(), state_);
  XXH3_128bits_update(copy.get(), hashes_.data(), hashes_.size() * sizeof(std::uint64_t));
  const XXH128_hash_t hash = XXH3_128bits_digest(copy.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

void CauseBook::go_on(const Event& event, std::uint64_t number, const Dependencies& needs,
                      std::span<EventSink* const> sinks) {
  const auto own = static_cast<std::int64_t>(number);
  faults_.on(event, own);
  const InChain is = std::visit([]<class T>(const T&) { return psim::in_chain<T>(); }, event.what);
  if (is == InChain::detail) return;
  CauseChain& here = chain();
  const Dependencies before = here.take_needs();
  for (const Dependencies* all : {&before, &needs}) {
    for (const Dependency& need : *all) {
      if (need.event == event.cause.event) continue;
      for (EventSink* sink : sinks) sink->on_dependency(number, need);
    }
  }
  if (is == InChain::step) here.did(event.at, own);
  else if (!before.empty()) here.needs(own);  // a word passes its dependencies on to the next event
}

}  // namespace psim
