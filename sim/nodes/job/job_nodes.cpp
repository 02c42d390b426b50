#include "sim/nodes/job/job_nodes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <utility>

#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

void JobNodes::make(const std::shared_ptr<Values>& weights) {
  const JobPlan& plan = job_.plan;
  samples_before_.resize(plan.workers());
  if (!plan.scenario.architecture.has_servers()) {
    peers_ = make_peers(job_, weights.get());
    return;
  }
  for (std::uint32_t s = 0; s < plan.servers(); ++s)
    servers_.push_back(std::make_unique<ServerActor>(job_, s));
  for (std::uint32_t s = 0; s < plan.keys.shards.size(); ++s) {
    const Slice part = JobPlan::part_of(plan.keys.shards[s], weights);
    std::optional<Values> own;
    if (part.values) own = Values::copy_of(*part.values, part.begin, part.count);
    servers_[plan.keys.shards[s].server]->shards().own(s, std::move(own));
  }
  for (NodeId node = plan.first_worker(); node < plan.past_workers(); ++node) {
    if (plan.tasks) task_workers_.push_back(std::make_unique<TaskWorker>(job_, node));
    else
      workers_.push_back(
          std::make_unique<Worker>(job_, node, plan.warms_up_before_servers() ? weights : nullptr));
  }
}

void JobNodes::make_again(NodeId node) {
  if (job_.plan.is_server(node)) {
    const std::uint32_t index = node - job_.plan.first_server();
    servers_[index] = std::make_unique<ServerActor>(job_, index);
  } else if (peers_ && job_.plan.is_worker(node)) {
    peers_->lose(worker_index(node));
  } else if (job_.plan.is_worker(node)) {
    samples_before_[worker_index(node)] += worker(node).source().samples_computed();
    workers_[worker_index(node)] = std::make_unique<Worker>(job_, node, nullptr, true);
  }
}

// A server that has not heard of a cut yet holds both parts under one number.
const ShardServer* JobNodes::holder_in(const ServerShards& server, std::uint32_t shard, const Part& part) {
  const ShardServer* here = server.find(shard);
  if (here != nullptr) return here->state().options.part.covers(part) ? here : nullptr;
  for (const auto& [number, other] : server.all()) {
    if (other.state().options.part.covers(part)) return &other;
  }
  return nullptr;
}

// Two servers may believe that they own the shard. The owner of the later epoch does.
const ShardServer* JobNodes::owner_of(std::uint32_t shard) const {
  const ShardServer* owner = nullptr;
  for (const auto& server : servers_) {
    const ShardServer* here = holder_in(server->shards(), shard, keys().shards[shard].part);
    if (here != nullptr && here->leads() && (owner == nullptr || here->epoch() > owner->epoch()))
      owner = here;
  }
  return owner;
}

// While a shard moves between owners it has no owner, but a server still holds it.
const ShardServer* JobNodes::best_of(std::uint32_t shard) const {
  const ShardServer* best = owner_of(shard);
  if (best != nullptr) return best;
  for (const auto& server : servers_) {
    const ShardServer* here = holder_in(server->shards(), shard, keys().shards[shard].part);
    if (here != nullptr && (best == nullptr || here->version() > best->version())) best = here;
  }
  return best;
}

std::vector<Slice> JobNodes::weights() const {
  if (peers_) return peers_->weights();
  std::vector<Slice> parts;
  for (std::uint32_t s = 0; s < keys().shards.size(); ++s) {
    const ShardServer* best = best_of(s);
    if (best == nullptr) {
      parts.push_back(job_.state.last_weights.of(s));
      continue;
    }
    const ShardState& state = best->state();
    parts.push_back(part_of(state.snapshot(), state.options.part.place_of(keys().shards[s].part)));
  }
  return parts;
}

// Empty if the scheduler has started all nodes.
std::string JobNodes::who_joins() const {
  std::int64_t servers = 0, workers = 0;
  for (NodeId node = 0; node < job_.state.usage.nodes(); ++node) {
    if (!job_.state.progress.is_joining(node) || !job_.network.is_up(node)) continue;
    ++(job_.plan.is_server(node) ? servers : workers);
  }
  std::vector<std::string> who;
  if (servers > 0) who.push_back(counted(servers, "server"));
  if (workers > 0) who.push_back(counted(workers, "worker"));
  if (who.empty()) return {};
  return fmt::format("at {:.6g} s {} wait{} for the scheduler to start{}", Agenda::now(),
                     fmt::join(who, " and "), servers + workers == 1 ? "s" : "",
                     job_.network.is_up(scheduler_node) ? "" : ", and it is down");
}

// For the case that no node waits for another.
std::string JobNodes::who_is_down() const {
  constexpr std::size_t most = 8;
  std::vector<std::string> down;
  for (NodeId node = 0; node < job_.plan.past_workers(); ++node) {
    const bool is_of_job = node <= job_.plan.servers() || job_.plan.is_worker(node);
    if (is_of_job && !job_.network.is_up(node)) down.push_back(node_name(job_.plan.scenario.cluster, node));
  }
  if (down.empty()) return {};
  const std::size_t more = down.size() > most ? down.size() - most : 0;
  down.resize(down.size() - more);
  return fmt::format("at {:.6g} s {}{} {} down, and nothing starts {} again", Agenda::now(),
                     fmt::join(down, ", "), more > 0 ? fmt::format(" and {} more", more) : "",
                     down.size() == 1 ? "is" : "are", down.size() == 1 ? "it" : "them");
}

// Lists each line once, even if it is true for many shards. Of thousands of workers it names only the first.
std::vector<std::string> JobNodes::who_waits() const {
  constexpr std::size_t most = 20;
  std::vector<std::string> lines;
  std::set<std::string> known;
  const auto say = [&](std::string line) {
    if (known.insert(line).second && known.size() <= most) lines.push_back(std::move(line));
  };
  for (std::uint32_t s = 0; !peers_ && s < keys().shards.size(); ++s) {
    const ShardServer* server = owner_of(s);
    if (server == nullptr) {
      say(fmt::format("at {:.6g} s no server owns shard {}", Agenda::now(), job_.plan.first_shard + s));
      continue;
    }
    for (const auto& [worker, pull] : server->waiting()) {
      const ShardState& state = server->state();
      const StartView start = WaitingPulls::start_of(worker, pull, state, Agenda::now());
      const bool may_start = state.policy().may_start(start, state.memory);
      const std::string why_not = may_start ? "" : state.policy().why_not(start, state.memory),
                        why_no_update = state.policy().why_no_update(state.view(Agenda::now()), state.memory);
      say(fmt::format(
          "at {:.6g} s worker {} waits for server {} to let it start clock {}; the server has version {}, "
          "{} of its next update, and the slowest worker at clock {}{}{}{}{}",
          Agenda::now(), job_.plan.first_index + worker, server->id() - job_.plan.first_server(), pull.clock,
          server->version(), counted(std::ssize(server->pending()), "push"), state.workers.slowest(),
          why_not.empty() ? "" : "; ", why_not, why_no_update.empty() ? "" : "; ", why_no_update));
    }
  }
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    const Message* request = workers_[w]->requests().oldest();
    if (request == nullptr || !job_.network.is_up(request->from)) continue;
    say(fmt::format("at {:.6g} s worker {} waits for {} to answer its {}{}", Agenda::now(),
                    job_.plan.first_index + w, node_name(job_.plan.scenario.cluster, request->to),
                    name_of(kind_of(*request)), job_.network.is_up(request->to) ? "" : ", and it is down"));
  }
  for (std::string& line : peers_ ? peers_->who_waits() : std::vector<std::string>{}) say(std::move(line));
  if (std::string joins = who_joins(); !joins.empty()) say(std::move(joins));
  const bool nobody_hears = !job_.network.is_up(scheduler_node);
  for (std::uint32_t w = 0; nobody_hears && w < workers_.size(); ++w) {
    if (workers_[w]->is_through())
      say(fmt::format("at {:.6g} s worker {} has done its steps and must tell the scheduler, which is down",
                      Agenda::now(), job_.plan.first_index + w));
  }
  if (lines.empty()) {
    if (std::string down = who_is_down(); !down.empty()) say(std::move(down));
  }
  if (known.size() > most)
    lines.push_back(fmt::format("and {} like these",
                                counted(static_cast<std::int64_t>(known.size() - most), "more line")));
  return lines;
}

std::vector<ServerRanges> JobNodes::server_ranges() const {
  std::vector<ServerRanges> ranges;
  for (const auto& server : servers_) ranges.push_back(server->shards().ranges());
  return ranges;
}

}  // namespace psim
