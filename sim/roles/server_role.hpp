// A server's actor: takes messages one by one, spends the time that they cost, and lets the protocol act.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/server.hpp"
#include "sim/record/result.hpp"
#include "sim/roles/world.hpp"

namespace psim {

class ServerRole final : public Outbox {
 public:
  // `weights`: the whole key space's, none for a phantom model.
  ServerRole(World& world, std::uint32_t index, const std::shared_ptr<Values>& weights);

  // The actor's body; never returns.
  void run();

  // Of shard `shard`, which must be here.
  const Server& state(std::uint32_t shard) const { return shards_.at(shard); }
  // Of all shards here.
  ServerRanges ranges() const;
  // A push that will not be handled any more, or whose group will never be complete.
  void discard(const Message& push);
  void discard_rest();

 private:
  void send(Message message) override;
  void announce(Message message) override;
  void applied(const Message& push, std::int64_t staleness) override;
  void dropped(const Message& push) override;
  void duplicate(const Message& push) override;
  void updated(std::int64_t version) override;
  void handle(const Message& message);
  void acknowledge(const Message& push);
  double encode(Message& message);
  void send_all();

  World& world_;
  NodeId node_;
  bool filtered_;  // answers go through filters
  std::map<std::uint32_t, Server> shards_;
  std::uint32_t current_ = 0;  // the shard that is acting
  struct Outgoing {
    Message message;
    double flops;  // of the server, before it is sent
  };
  std::vector<Outgoing> outgoing_;  // what the shard that is acting has to say
  std::map<std::pair<std::uint32_t, NodeId>, std::unique_ptr<FilterChain>> filters_;  // of answers
  std::deque<Message> announced_;   // from one shard to the others here
  std::optional<Message> in_hand_;  // taken from the inbox, and paid for with time that is not over yet
};

// The scheduler's actor: starts everybody when everybody is up, and ends the run when all workers left.
void run_scheduler(World& world);

}  // namespace psim
