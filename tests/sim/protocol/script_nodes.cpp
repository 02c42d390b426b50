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

// ---- Workers: as KvClient does

Message ScriptCluster::with_oldest(const Worker& worker, Message message) const {
  const std::optional<std::int64_t> kept = worker.retries.oldest(message.shard);
  if (Pull* pull = message.as<Pull>())
    pull->oldest_resendable = kept.value_or(pull->pushes_sent.value_or(-1));
  if (Push* push = message.as<Push>()) push->oldest_resendable = kept.value_or(push->number);
  return message;
}

void ScriptCluster::request(Worker& worker, Message message) {
  worker.retries.sent(message, now_);
  send(with_oldest(worker, std::move(message)));
}

void ScriptCluster::pull(NodeId node) {
  Worker& worker = workers_.at(node);
  for (std::uint32_t s = 0; s < worker.shards.size(); ++s) {
    Shard& shard = worker.shards[s];
    const bool newer_only = rule_.gate == Gate::version && !shard.is_new;
    Pull pull{.clock = rule_.drops_stale ? shard.version + 1 : shard.pushes + worker.skipped,
              .above = newer_only ? shard.version : -1,
              .number = ++shard.pulls,
              .pushes_sent = shard.pushes,
              .skipped_clocks = worker.skipped,
              .computes = newer_only && shard.pushed_on < shard.version};
    if (shard.is_new) pull.pushes_sent.reset();
    shard.waits = true;
    request(worker, {.from = node, .to = shard.owner, .shard = s, .epoch = shard.epoch, .body = pull});
  }
}

void ScriptCluster::push(NodeId node, double gradient) {
  Worker& worker = workers_.at(node);
  for (std::uint32_t s = 0; s < worker.shards.size(); ++s) {
    Shard& shard = worker.shards[s];
    const std::int64_t number = shard.pushes++;
    shard.pushed_on = shard.version;
    const Push push{.worker = node,
                    .number = number,
                    .clock = rule_.drops_stale ? shard.version : number + worker.skipped,
                    .version = shard.version,
                    .first_version = worker.shards.front().version,
                    .gradient = {.values = {values_of({gradient}), 0, 1}, .bytes = 8}};
    request(worker, {.from = node, .to = shard.owner, .shard = s, .epoch = shard.epoch, .body = push});
  }
}

void ScriptCluster::at_worker(Worker& worker, const Message& message) {
  const NodeId node = message.to;
  if (const NewView* news = message.as<NewView>()) {
    for (std::uint32_t s = 0; s < worker.shards.size(); ++s) {
      Shard& shard = worker.shards[s];
      const Owner& owner = news->view->owners[s];
      if (owner.epoch <= shard.epoch) continue;
      shard.owner = owner.primary;
      shard.epoch = owner.epoch;
      for (Message& again : worker.retries.again(s, owner.primary, owner.epoch, now_))
        send(with_oldest(worker, std::move(again)));
    }
    return;
  }
  Shard& shard = worker.shards[message.shard];
  if (message.epoch != shard.epoch) return say("  " + names_.of(node) + " ignores it: of another epoch");
  if (const Ack* ack = message.as<Ack>()) {
    worker.retries.accepted(message.shard, ack->number);
    worker.retries.committed(message.shard, ack->safe_pushes);
  } else if (const Answer* answer = message.as<Answer>()) {
    if (!shard.waits || answer->number != shard.pulls)
      return say("  " + names_.of(node) + " ignores it: it asked again since");
    worker.retries.answered(message.shard);
    worker.retries.committed(message.shard, answer->safe_pushes);
    if (std::exchange(shard.is_new, false)) shard.pushes = answer->pushes_here;
    worker.skipped = std::max(worker.skipped, answer->skip_clocks);
    shard.waits = false;
    shard.version = answer->version;
  }
}

}  // namespace psim::test
