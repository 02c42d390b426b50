#include "tests/sim/protocol/script_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tests/sim/protocol/placed.hpp"
#include "tests/sim/protocol/server_driver.hpp"

namespace psim::test {

namespace {

KeySpace keys_of(std::uint32_t shards, std::uint32_t servers) {
  std::vector<std::uint32_t> homes;
  for (std::uint32_t s = 0; s < shards; ++s) homes.push_back(s % servers);
  return placed_on(homes, 1);
}

Membership membership_of(const ScriptCluster::Options& options, const Names& names) {
  Membership::Rules rules{.servers = options.servers,
                          .workers = options.workers,
                          .copies = options.replication.copies,
                          .removes_workers = true,
                          .two_phase = options.two_phase};
  for (const std::string& name : options.absent) rules.absent.push_back(names.find(name));
  return {std::move(rules), keys_of(options.shards, options.servers)};
}

}  // namespace

// Where a shard's decisions go: into the transcript, and on their way.
class ScriptCluster::Out final : public Outbox {
 public:
  Out(ScriptCluster& cluster, NodeId node, std::uint32_t shard)
      : cluster_(cluster), node_(node), shard_(shard) {}

  void send(Message message) override { pass_on(std::move(message), false); }
  void send_again(Message message) override { pass_on(std::move(message), true); }
  // To each server that owns another shard.
  void announce(UpdateGroup group) override {
    const View& view = *cluster_.servers_.at(node_).view;
    std::set<NodeId> servers;
    for (std::uint32_t s = 0; s < view.owners.size(); ++s) {
      if (s != shard_) servers.insert(view.owners[s].primary);
    }
    for (const NodeId node : servers)
      cluster_.send(
          {.from = node_, .to = node, .shard = shard_, .epoch = view.owners[shard_].epoch, .body = group});
  }
  void applied(const Push& push, std::int64_t staleness) override {
    say(fmt::format("applies {}, {} versions stale", id(push), staleness));
  }
  void dropped(const Push& push) override { say("drops " + id(push) + ": not of this version"); }
  void duplicate(const Push& push) override { say("had " + id(push) + " before"); }
  void refused(const Push& push) override { say("refuses " + id(push)); }
  // Asked before the weights change hands: they are those of the new version.
  void updated(std::int64_t version) override {
    const ShardServer& server = cluster_.servers_.at(node_).shards.at(shard_);
    say(fmt::format("makes version {}: weights {}", version, number(server.state().snapshot())));
  }
  void copied(NodeId node) override { say(cluster_.names_.of(node) + " has a copy"); }
  void promoted() override {
    const ShardServer& server = cluster_.servers_.at(node_).shards.at(shard_);
    say(fmt::format("leads from version {} on", server.version()));
  }

 private:
  void pass_on(Message message, bool again) {
    message.shard = shard_;
    if (message.is<Decide>()) {
      const Owner& first = cluster_.servers_.at(node_).view->owners.front();
      message.shard = 0;
      message.to = first.primary;
      message.epoch = first.epoch;
    }
    cluster_.send(std::move(message), again);
  }
  std::string id(const Push& push) const { return cluster_.names_.describe(std::vector{push.id()}); }
  void say(const std::string& what) {
    const std::string of = cluster_.options_.shards > 1 ? fmt::format(" [shard {}]", shard_) : "";
    cluster_.say(fmt::format("  {}{} {}", cluster_.names_.of(node_), of, what));
  }

  ScriptCluster& cluster_;
  NodeId node_;
  std::uint32_t shard_;
};

// Where a worker's messages go.
class ScriptCluster::WorkerOut final : public ClientOutbox {
 public:
  explicit WorkerOut(ScriptCluster& cluster) : cluster_(cluster) {}
  double now() const override { return cluster_.now_; }
  void send(Message request) override { cluster_.send(std::move(request)); }
  void send_again(Message request, const Cause&) override { cluster_.send(std::move(request), true); }
  void lend(Message copy) override { cluster_.send(std::move(copy)); }

 private:
  ScriptCluster& cluster_;
};

ScriptCluster::~ScriptCluster() = default;

ScriptCluster::ScriptCluster(const Options& options)
    : options_(options),
      names_{.servers = options.servers, .shards = options.shards},
      keys_(keys_of(options.shards, options.servers)),
      rule_(make_rule(options.consistency, options.workers)),
      membership_(membership_of(options, names_)) {
  names_.fresh = rule_.drops_stale;
  rule_.shards_advance_independently = rule_.drops_stale;
  for (std::uint32_t s = 0; s < options.shards; ++s) {
    const NodeId home = membership_.view().owners[s].primary;
    servers_[home].shards.emplace(s, first_state(s));
  }
  const auto view = std::make_shared<const View>(membership_.view());
  for (NodeId node = 1; node <= options.servers + options.workers; ++node) {
    if (membership_.is_absent(node)) continue;
    membership_.heard(node, 0, now_);
    if (names_.is_server(node)) on_view(node, servers_[node], view);
    else workers_.emplace(node, new_worker(node, false));
  }
  membership_.start(now_);
  say(names_.describe(*view));
  const std::string told = take_transcript();
  deliver_all();  // the copies' first states
  transcript_ = told;
}

ShardServer::Options ScriptCluster::options_of(std::uint32_t shard) const {
  return {.state = {.shard = shard,
                    .shards = options_.shards,
                    .first_worker = names_.first_worker(),
                    .rule = shared_rule(rule_),
                    .steps = options_.steps,
                    .learning_rate = {.base = options_.rate},
                    .weights = {.ranges = {{0, 1}}, .parameters = 1, .compensation = options_.compensation}},
          .confirms = true,
          .replication = options_.replication,
          .resend = {.timeout = options_.timeout},
          .checked = true};
}

ShardServer ScriptCluster::first_state(std::uint32_t shard) const {
  return {options_of(shard), std::move(*values_of({0.0})), 1};
}

ScriptCluster::Worker ScriptCluster::new_worker(NodeId node, bool is_back) {
  Worker worker{.out = std::make_unique<WorkerOut>(*this), .client = {}, .resumes = is_back};
  KvClient::Options client{.node = node,
                           .keys = &keys_,
                           .rule = shared_rule(rule_),
                           .retry = RetrySpec{.timeout = options_.timeout}};
  for (const Owner& owner : membership_.view().owners) client.owners.push_back(owner.primary);
  worker.client = std::make_unique<KvClient>(std::move(client), *worker.out);
  worker.client->on_view(std::make_shared<const View>(membership_.view()));
  return worker;
}

// ---- Messages on their way

// What is sent again while the same is on its way stays away, as on the simulator's network.
void ScriptCluster::send(Message message, bool again) {
  const std::string text = names_.describe(message);
  const auto is_same = [&](const Message& other) { return names_.describe(other) == text; };
  if (again && std::ranges::any_of(flight_, is_same)) return;
  say("  " + text);
  flight_.push_back(std::move(message));
}

std::deque<Message>::iterator ScriptCluster::find(const Which& which) {
  const auto is_it = [&](const Message& message) {
    return message.from == which.from && message.to == which.to &&
           (which.kind.empty() || name_of(kind_of(message)) == which.kind);
  };
  const auto found = std::ranges::find_if(flight_, is_it);
  if (found == flight_.end())
    throw std::runtime_error(fmt::format("nothing {} is on its way from {} to {}", which.kind,
                                         names_.of(which.from), names_.of(which.to)));
  return found;
}

void ScriptCluster::deliver(const Which& which) {
  const auto found = find(which);
  const Message message = std::move(*found);
  flight_.erase(found);
  arrive(message);
}

void ScriptCluster::deliver_all() {
  constexpr int many = 1000;
  for (int i = 0; !flight_.empty(); ++i) {
    if (i == many) throw std::runtime_error("messages go round in circles");
    const Message message = std::move(flight_.front());
    flight_.pop_front();
    arrive(message);
  }
}

void ScriptCluster::drop(const Which& which) {
  const auto found = find(which);
  say("lost: " + names_.describe(*found));
  flight_.erase(found);
}

void ScriptCluster::duplicate(const Which& which) {
  const Message message = *find(which);
  say("twice: " + names_.describe(message));
  flight_.push_back(message);
}

void ScriptCluster::show_flight() {
  for (const Message& message : flight_) say(names_.describe(message));
  if (flight_.empty()) say("nothing is on its way");
}

void ScriptCluster::arrive(const Message& message) {
  say(names_.describe(message));
  const std::int64_t before = membership_.view().number;
  if (message.to == scheduler_node) {
    membership_.ready(message.shard, message.as<Ready>()->next_owner, message.epoch);
    announce(before);
  } else if (const auto server = servers_.find(message.to); server != servers_.end()) {
    at_server(server->second, message);
  } else if (const auto worker = workers_.find(message.to); worker != workers_.end()) {
    at_worker(worker->second, message);
  } else {
    say("  lost: " + names_.of(message.to) + " is down");
  }
}

// ---- Nodes that come and go, and time

void ScriptCluster::crash(NodeId node) {
  servers_.erase(node);
  workers_.erase(node);
  const auto is_its = [node](const Message& message) { return message.from == node || message.to == node; };
  for (const Message& message : flight_) {
    if (is_its(message)) say("lost: " + names_.describe(message));
  }
  std::erase_if(flight_, is_its);
}

void ScriptCluster::start(NodeId node) {
  const std::int64_t before = membership_.view().number;
  const bool is_first = membership_.is_absent(node);
  const std::uint32_t life = is_first ? 0 : ++lives_[node];
  if (names_.is_server(node)) servers_[node];
  membership_.heard(node, life, now_);
  if (!names_.is_server(node)) workers_.insert_or_assign(node, new_worker(node, true));
  announce(before);
}

void ScriptCluster::leave(NodeId node) {
  const std::int64_t before = membership_.view().number;
  membership_.leaves(node);
  if (names_.is_worker(node)) crash(node);
  announce(before);
}

void ScriptCluster::run(NodeId node, std::uint32_t shard, const std::function<void(Outbox&)>& act) {
  Out out(*this, node, shard);
  act(out);
}

void ScriptCluster::wait(double seconds) {
  now_ += seconds;
  const std::int64_t before = membership_.view().number;
  for (const auto& [node, server] : servers_) membership_.heard(node, lives_[node], now_);
  for (const auto& [node, worker] : workers_) membership_.heard(node, lives_[node], now_);
  for (const NodeId node : membership_.suspect(now_)) say("sched suspects " + names_.of(node));
  announce(before);
  for (auto& [node, server] : servers_) {
    for (auto& [shard, part] : server.shards)
      run(node, shard, [&part = part, this](Outbox& out) { part.resend(now_, out); });
  }
  for (auto& [node, worker] : workers_) worker.client->repeat(now_);
}

void ScriptCluster::announce(std::int64_t before) {
  if (membership_.view().number == before) return;
  const auto view = std::make_shared<const View>(membership_.view());
  say("sched: " + names_.describe(*view));
  const auto tell = [&](NodeId node) {
    flight_.push_back({.from = scheduler_node, .to = node, .body = NewView{view}});
  };
  for (const auto& [node, server] : servers_) tell(node);
  for (const auto& [node, worker] : workers_) tell(node);
}

void ScriptCluster::show(NodeId node) {
  for (const auto& [shard, server] : servers_.at(node).shards) {
    const ShardState& state = server.state();
    say(fmt::format("{} {} shard {} in epoch {}: version {}, weights {}", names_.of(node),
                    server.leads() ? "leads" : "has a copy of", shard, server.epoch(), server.version(),
                    number(state.snapshot())));
    for (std::uint32_t w = 0; w < state.workers.size(); ++w) {
      const WorkerClocks::Worker& worker = state.workers[w];
      std::string line =
          fmt::format("  w{}: {} pushes arrived, {} applied or dropped", w, worker.arrived, worker.applied);
      if (worker.skipped_clocks > 0) line += fmt::format(", {} clocks skipped", worker.skipped_clocks);
      if (worker.gone) line += ", takes no part";
      if (worker.rejoining) line += ", nobody waits for it";
      if (server.waiting().contains(w)) line += ", its pull waits";
      say(line);
    }
    const auto list = [&](const char* what, const std::vector<Push>& pushes) {
      std::vector<PushId> ids;
      for (const Push& push : pushes) ids.push_back(push.id());
      if (!ids.empty()) say(fmt::format("  {}: {}", what, names_.describe(ids)));
    };
    list("pushes that wait for their update", server.pending());
    list("pushes that came before others of their workers", server.early());
  }
}

}  // namespace psim::test
