// A server's actor: takes messages one by one, spends the time that they cost, and lets the protocol act.
#pragma once

#include <optional>
#include <vector>

#include "sim/protocol/server.hpp"
#include "sim/roles/world.hpp"

namespace psim {

class ServerRole final : public Outbox {
 public:
  ServerRole(World& world, std::uint32_t index, std::optional<Values> weights);

  // The actor's body; never returns.
  void run();

  const Server& state() const { return server_; }
  // A push that will not be handled any more, or whose group will never be complete.
  void discard(const Message& push);
  void discard_rest();

 private:
  void send(Message message) override { world_.network.send(std::move(message)); }
  void applied(const Message& push, std::int64_t staleness) override;
  void dropped(const Message& push) override;
  void updated(std::int64_t version) override;

  World& world_;
  NodeId node_;
  Server server_;
  std::optional<Message> in_hand_;  // taken from the inbox, and paid for with time that is not over yet
};

// The scheduler's actor: starts everybody when everybody is up, and ends the run when all workers left.
void run_scheduler(World& world);

}  // namespace psim
