// A whole cluster without a network: the scheduler's Membership, servers with their ShardServers, and workers
// with their KvClients. A message stays on its way until a script delivers, drops or doubles it. This class
// does what ServerActor and ClientActor do around those classes, as far as scripts need it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/protocol/client/kv_client.hpp"
#include "sim/protocol/scheduler/membership.hpp"
#include "sim/protocol/server/shard_server.hpp"
#include "tests/sim/protocol/script_words.hpp"

namespace psim::test {

class ScriptCluster {
 public:
  struct Options {
    std::uint32_t workers = 2, servers = 1, shards = 1;
    ConsistencySpec consistency = {};
    ReplicationSpec replication = {};
    std::int64_t steps = 100;
    double rate = 1, timeout = 1;  // of learning; seconds until a request or an entry is sent again
    DelayCompensation::Rule compensation = {};
    bool two_phase = true;
    std::vector<std::string> absent = {};  // nodes that are to come
  };
  explicit ScriptCluster(const Options& options);
  ~ScriptCluster();
  ScriptCluster(const ScriptCluster&) = delete;
  ScriptCluster& operator=(const ScriptCluster&) = delete;

  // Each appends to the transcript what came of it.
  void pull(NodeId worker);
  void push(NodeId worker, double gradient);
  void deliver_all();
  // The first message on its way from one node to another, if a kind is given, of this one.
  struct Which {
    NodeId from = 0, to = 0;
    std::string kind = {};
  };
  void deliver(const Which& which);
  void drop(const Which& which);
  void duplicate(const Which& which);
  void crash(NodeId node);
  void start(NodeId node);
  void leave(NodeId node);
  // Time passes: what is not confirmed is sent again, and who is silent is suspected after 2 seconds.
  void wait(double seconds);
  void show(NodeId node);
  void show_flight();

  NodeId find(const std::string& name) const { return names_.find(name); }
  std::string take_transcript() { return std::exchange(transcript_, {}); }

 private:
  class Out;
  struct Server {
    std::map<std::uint32_t, ShardServer> shards;
    SharedView view = {};
    std::map<std::uint32_t, std::set<NodeId>> wanted = {};  // shards to own, and who has told what it has
    std::deque<Message> early = {};                         // of epochs to come
  };
  class WorkerOut;
  struct Worker {
    std::unique_ptr<WorkerOut> out;
    std::unique_ptr<KvClient> client;
    bool resumes = false;  // it has come back, and does not know yet with which clock it goes on
    std::int64_t clock = 0;
    std::int64_t pushed_on = -1;  // the first shard's version on which it computed its last push
  };

  void say(const std::string& line) { transcript_ += line + "\n"; }
  void send(Message message, bool again = false);
  std::deque<Message>::iterator find(const Which& which);
  void arrive(const Message& message);
  // Lets a shard act, and its decisions go where they belong.
  void run(NodeId node, std::uint32_t shard, const std::function<void(Outbox&)>& act);
  Worker new_worker(NodeId node, bool is_back);
  ShardServer::Options options_of(std::uint32_t shard) const;
  ShardServer first_state(std::uint32_t shard) const;

  // The scheduler.
  void announce(std::int64_t before);

  // Servers.
  void at_server(Server& server, const Message& message);
  void on_view(NodeId node, Server& server, const SharedView& view);
  void take_place(NodeId node, Server& server, std::uint32_t shard);
  bool is_early(const Server& server, const Message& message) const;
  void take_early(Server& server);
  void lead(NodeId node, Server& server, std::uint32_t shard);
  void ask(NodeId node, Server& server, std::uint32_t shard);
  void hand_over(Server& server, const Message& message, const Restore& request);
  void on_state(Server& server, const Message& message, const State& state);
  std::optional<NodeId> next_in_chain(const Owner& owner, NodeId node) const;

  // Workers.
  void at_worker(Worker& worker, const Message& message);

  Options options_;
  Names names_;
  KeySpace keys_;
  ConsistencyRule rule_;
  Membership membership_;
  std::map<NodeId, Server> servers_;
  std::map<NodeId, Worker> workers_;
  std::map<NodeId, std::uint32_t> lives_;
  std::deque<Message> flight_;
  double now_ = 0;
  std::string transcript_;
};

}  // namespace psim::test
