// A server's actor: takes messages one by one, spends the time that they cost, and lets the protocol act.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/protocol/membership.hpp"
#include "sim/protocol/shard_server.hpp"
#include "sim/record/result.hpp"
#include "sim/roles/world.hpp"

namespace psim {

// Why pulls that have waited are answered, when a server handles `message`. Of a pull: whose it is, and its
// number.
Release cause_of(const Message& message);

class ServerRole final : public Outbox {
 public:
  ServerRole(World& world, std::uint32_t index);
  // Its shards, at first; without weights those of a phantom model.
  void own(std::uint32_t shard, std::optional<Values> weights);

  // The actor's body; never returns.
  void run();
  // The same server's part in another namespace, for which this actor acts as well.
  void act_for(ServerRole& other) { others_.push_back(&other); }

  // Of shard `shard`; null when it is not here.
  const ShardServer* find(std::uint32_t shard) const {
    const auto found = shards_.find(shard);
    return found == shards_.end() ? nullptr : &found->second;
  }
  std::int64_t view() const { return view_ ? view_->number : -1; }
  // Goes as soon as its shards are elsewhere; it says so instead of a heartbeat.
  void leave_soon() { is_leaving_ = true; }
  bool is_leaving() const { return is_leaving_; }
  // Its shards are elsewhere. `has_got` tells whether a new owner has the shard that it is to get from here.
  bool has_left(const std::function<bool(std::uint32_t shard, const Owner&)>& has_got) const;
  // Of all shards here.
  ServerRanges ranges() const;
  // A push that will not be handled any more, or whose group will never be complete.
  void discard(std::uint32_t shard, const Push& push);
  void discard_rest();
  void discard_pending(const ShardServer& server);
  // The namespace's training has ended: nothing that comes for it counts any more.
  void end();

 private:
  void send(Message message) override;
  void send_again(Message message) override;
  void announce(UpdateGroup group) override;
  void applied(const Push& push, std::int64_t staleness) override;
  void dropped(const Push& push) override;
  void duplicate(const Push& push) override;
  void refused(const Push& push) override;
  void updated(std::int64_t version) override;
  void copied(NodeId replica) override;
  void counted(NodeId node, const WorkerClocks::Worker& worker) override;
  void promoted() override;
  void record_push(Outcome outcome, std::uint32_t shard, const Push& push,
                   std::optional<std::int64_t> staleness = {});
  struct Hashes {
    std::optional<std::uint64_t> weights = {}, state = {};
  };
  Hashes hashes_of(const ShardServer& server) const;
  ShardServer::Options options_of(std::uint32_t shard) const;
  ServerRole& role_for(const Message& message);
  void handle(const Message& message);
  void act(std::pair<const std::uint32_t, ShardServer>& entry, const Message& message);
  void take(Message message);
  void take_announced();
  void on_decision(const Message& group);
  void work(double flops);
  // Where nodes may fail (server_watch.cpp).
  void run_watched();
  std::optional<double> next_turn() const;
  void on_view(const std::shared_ptr<const View>& view);
  void take_place(std::uint32_t shard, const Owner& owner);
  bool holds_copy(const Owner& owner) const;
  std::optional<NodeId> next_in_chain(const Owner& owner) const;
  void lead(ShardServer& server, const Owner& owner);
  void start_asking(std::uint32_t shard);
  void ask_again();
  void ask_for(std::uint32_t shard);
  bool has_newest(std::uint32_t shard) const;
  void hand_over(const Message& message, const Restore& request);
  std::optional<NodeId> next_peer(std::uint32_t shard) const;
  void begin(std::uint32_t shard);
  void on_peer(const Message& message, const State& answer);
  void dispatch(Message message);
  bool is_early(const Message& message) const;
  void keep(Message message);
  void take_early();
  void release(const Message& answer);
  void lacks_state(const Message& entry);
  void confirm(std::uint32_t shard, const Owner& owner, std::optional<std::int64_t> entries);
  ShardServer& received(std::uint32_t shard, const State& state);
  ShardServer& first_state(std::uint32_t shard);
  void on_state(const Message& message, const State& state);
  void take_snapshots();
  bool acknowledges_arrival() const;
  void acknowledge(const Push& push);
  double encode(std::uint32_t shard, NodeId to, Answer& answer);
  void send_all();

  World& world_;
  NodeId node_;
  std::vector<ServerRole*> others_;  // of the other namespaces, where this one has the actor
  bool ended_ = false, is_leaving_ = false, takes_early_ = false;
  bool filtered_;  // answers go through filters
  std::map<std::uint32_t, ShardServer> shards_;
  std::uint32_t current_ = 0;  // the shard that is acting ...
  Release cause_ = {};         // ... because of this (cause_of)
  struct Outgoing {
    Message message;
    double flops;        // of the server, before it is sent
    bool is_new = true;  // else it may still be on its way
  };
  std::vector<Outgoing> outgoing_;  // what the shard that is acting has to say
  std::map<std::pair<std::uint32_t, NodeId>, std::unique_ptr<FilterChain>> filters_;  // of answers
  std::deque<Message> announced_;  // from one shard to the others here
  // Where nodes may fail.
  std::shared_ptr<const View> view_;                  // the last one
  std::map<std::uint32_t, Owner> owners_;             // in it, by shard
  std::vector<bool> members_;                         // in it: workers that take part
  std::map<std::uint32_t, std::set<NodeId>> wanted_;  // shards to own, and who has said what it has ...
  double asked_ = 0, asks_again_after_ = 0;           // ... others were asked at this date, for so long
  Backoff asks_;
  std::deque<Message> early_;                            // of epochs to come, or for shards that are to come
  std::map<std::uint32_t, std::int64_t> last_snapshot_;  // by shard: how many have been due
  std::optional<Message> in_hand_;  // taken from the inbox, and paid for with time that is not over yet
};

}  // namespace psim
