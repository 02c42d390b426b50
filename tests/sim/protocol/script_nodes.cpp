// What a cluster's servers and workers do with a message.
#include <algorithm>

#include "tests/sim/protocol/script_cluster.hpp"
#include "tests/sim/protocol/server_driver.hpp"

namespace psim::test {

// ---- Servers: as ServerActor does

void ScriptCluster::at_server(Server& server, const Message& message) {
  if (const NewView* news = message.as<NewView>()) {
    on_view(message.to, server, news->view);
    return take_early(server);
  }
  if (is_early(server, message)) {
    say("  " + names_.of(message.to) + " keeps it: it knows no such epoch yet, or waits for the state");
    server.early.push_back(message);
    return;
  }
  if (const State* state = message.as<State>()) {
    on_state(server, message, *state);
    return take_early(server);
  }
  if (const Restore* question = message.as<Restore>()) return hand_over(server, message, *question);
  if (message.is<UpdateGroup>()) {  // for all other shards here, in whatever epoch they are
    Message own = message;
    for (auto& [s, other] : server.shards) {
      own.epoch = other.epoch();
      if (s != message.shard)
        run(message.to, s, [&other = other, &own, this](Outbox& out) { other.on(own, now_, out); });
    }
    return;
  }
  const auto shard = server.shards.find(message.shard);
  if (shard == server.shards.end()) return say("  " + names_.of(message.to) + " has no such shard");
  run(message.to, message.shard, [&](Outbox& out) { shard->second.on(message, now_, out); });
}

bool ScriptCluster::is_early(const Server& server, const Message& message) const {
  if (!server.view) return true;
  const Owner& owner = server.view->owners[message.shard];
  if (message.epoch > owner.epoch) return true;
  const bool is_request = message.is<Push>() || message.is<Pull>();
  return is_request && message.epoch == owner.epoch && server.wanted.contains(message.shard);
}

void ScriptCluster::take_early(Server& server) {
  const auto is_due = [&](const Message& message) { return !is_early(server, message); };
  for (auto due = server.early.begin();
       (due = std::ranges::find_if(server.early, is_due)) != server.early.end();) {
    const Message message = std::move(*due);
    server.early.erase(due);
    say("now " + names_.describe(message));
    at_server(server, message);
  }
}

void ScriptCluster::on_view(NodeId node, Server& server, const SharedView& view) {
  if (server.view && view->number <= server.view->number) return;
  server.view = view;
  for (std::uint32_t s = 0; s < view->owners.size(); ++s) take_place(node, server, s);
}

std::optional<NodeId> ScriptCluster::next_in_chain(const Owner& owner, NodeId node) const {
  const auto copy = std::ranges::find(owner.replicas, node);
  const bool is_last = copy == owner.replicas.end() || copy + 1 == owner.replicas.end();
  if (options_.replication.layout != ReplicationLayout::chain || is_last) return std::nullopt;
  return *(copy + 1);
}

void ScriptCluster::take_place(NodeId node, Server& server, std::uint32_t shard) {
  const Owner& owner = server.view->owners[shard];
  const auto here = server.shards.find(shard);
  if (owner.primary == node) {
    if (here != server.shards.end() && here->second.leads() && here->second.epoch() == owner.epoch)
      return lead(node, server, shard);
    if (here != server.shards.end() && here->second.leads()) here->second.follow(node, owner.epoch, node, {});
    server.wanted[shard].clear();
    return ask(node, server, shard);
  }
  server.wanted.erase(shard);
  if (here == server.shards.end()) return;
  const bool holds = owner.next == node || std::ranges::find(owner.replicas, node) != owner.replicas.end();
  if (owner.was_primary(node)) here->second.follow(node, owner.epoch, owner.primary, {});
  else if (!holds || here->second.leads()) server.shards.erase(here);
  else here->second.follow(node, owner.epoch, owner.primary, next_in_chain(owner, node));
}

void ScriptCluster::lead(NodeId node, Server& server, std::uint32_t shard) {
  server.wanted.erase(shard);
  if (!server.shards.contains(shard)) server.shards.emplace(shard, first_state(shard));
  ShardServer& here = server.shards.at(shard);
  run(node, shard, [&](Outbox& out) {
    here.lead(node, server.view->owners[shard], now_, out);
    here.set_members(server.view->workers, now_, out);
  });
}

// The last owner, then every replica: who has more of the shard?
void ScriptCluster::ask(NodeId node, Server& server, std::uint32_t shard) {
  const Owner& owner = server.view->owners[shard];
  std::vector<NodeId> peers = owner.from;
  peers.insert(peers.end(), owner.replicas.begin(), owner.replicas.end());
  const std::set<NodeId>& heard = server.wanted.at(shard);
  const auto peer = std::ranges::find_if(peers, [&](NodeId other) { return !heard.contains(other); });
  if (peer == peers.end()) return lead(node, server, shard);
  const auto here = server.shards.find(shard);
  const ShardServer::Extent extent =
      here != server.shards.end() ? here->second.extent() : ShardServer::Extent{};
  send({.from = node,
        .to = *peer,
        .shard = shard,
        .epoch = owner.epoch,
        .body = Restore{.log_epoch = extent.epoch, .entries = extent.entries}});
}

void ScriptCluster::hand_over(Server& server, const Message& message, const Restore& request) {
  const auto here = server.shards.find(message.shard);
  const ShardServer::Extent theirs{request.log_epoch, request.entries};
  const ShardServer::Extent ours =
      here != server.shards.end() ? here->second.extent() : ShardServer::Extent{};
  const bool has_more = here != server.shards.end() && (theirs.entries < 0 || ours > theirs);
  State answer = has_more ? here->second.log_suffix_after(theirs) : State{};
  answer.entries = ours.entries;
  send({.from = message.to,
        .to = message.from,
        .shard = message.shard,
        .epoch = message.epoch,
        .body = std::move(answer)});
}

void ScriptCluster::on_state(Server& server, const Message& message, const State& state) {
  const NodeId node = message.to;
  const Owner& owner = server.view->owners[message.shard];
  const auto here = server.shards.find(message.shard);
  const auto take_over = [&]() -> ShardServer& {
    return server.shards.insert_or_assign(message.shard, ShardServer(options_of(message.shard), state))
        .first->second;
  };
  if (owner.primary == node) {
    if (message.epoch != owner.epoch || !server.wanted.contains(message.shard)) return;
    if (state.rest) here->second.take_log_suffix(*state.rest);
    else if (state.shard && (here == server.shards.end() || extent_of(state) > here->second.extent()))
      take_over().follow(node, owner.epoch, node, {});
    server.wanted.at(message.shard).insert(message.from);
    if (owner.was_primary(message.from)) return lead(node, server, message.shard);
    return ask(node, server, message.shard);
  }
  if (message.epoch != owner.epoch) return;
  std::int64_t entries = here == server.shards.end() ? -1 : here->second.entries_in(message.epoch);
  if (entries < state.entries) {
    take_over().follow(node, message.epoch, message.from, next_in_chain(owner, node));
    entries = state.entries;
  }
  send({.from = node,
        .to = owner.primary,
        .shard = message.shard,
        .epoch = message.epoch,
        .body = Replicated{entries}});
}

// ---- Workers

// A worker that has pushed since its last answer wants a newer version, and one that has not says that it
// computes.
void ScriptCluster::pull(NodeId node) {
  Worker& worker = workers_.at(node);
  KvClient& client = *worker.client;
  if (worker.resumes) {
    client.ask_where_to_resume();
    return;
  }
  if (rule_.drops_stale) worker.clock = client.version(0) + 1;
  const bool newer_only = rule_.gate == Gate::version;
  const bool computes = newer_only && worker.pushed_on < client.version(0);
  client.pull(client.all_shards(), worker.clock + client.take_clocks_to_skip(),
              !newer_only ? KvClient::Wanted::any
              : computes  ? KvClient::Wanted::next
                          : KvClient::Wanted::newer);
}

void ScriptCluster::push(NodeId node, double gradient) {
  Worker& worker = workers_.at(node);
  const std::int64_t version = worker.pushed_on = worker.client->version(0);
  worker.client->use_all();
  worker.client->push(
      worker.client->all_shards(), rule_.drops_stale ? version : worker.clock++, {}, [&](std::uint32_t) {
        return KvClient::GradientPart{.payload = {.values = {values_of({gradient}), 0, 1}, .bytes = 8}};
      });
}

void ScriptCluster::at_worker(Worker& worker, const Message& message) {
  KvClient& client = *worker.client;
  if (message.is<Answer>() && !client.is_expected(message))
    say("  " + names_.of(message.to) + " ignores it: it asked again since");
  client.on(message);
  if (!worker.resumes || !message.is<Answer>() || !client.answered(client.all_shards())) return;
  worker.resumes = false;
  worker.clock = client.resume();
}

}  // namespace psim::test
