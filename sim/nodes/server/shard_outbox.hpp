// The messages of one shard of a server, and its events for the record, while it acts for one reason.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/nodes/server/server_shards.hpp"

namespace psim {

class ShardOutbox final : public Outbox {
 public:
  // `cause`: why the shard answers waiting pulls now.
  ShardOutbox(ServerShards& all, std::uint32_t shard, const Release& cause)
      : all_(all), job_(all.job_), shard_(shard), cause_(cause) {}

  void send(Message message) override;
  void send_again(Message message) override;
  void announce(UpdateGroup group) override;
  void applied(const Push& push, std::int64_t staleness) override;
  void dropped(const Push& push) override;
  void duplicate(const Push& push) override { all_.record_push(Outcome::duplicate, shard_, push); }
  void refused(const Push& push) override { all_.record_push(Outcome::refused, shard_, push); }
  void updated(std::int64_t version) override;
  void copied(NodeId replica) override;
  void membership_changed(NodeId node, const WorkerClocks::Worker& worker) override;
  void promoted() override;
  std::shared_ptr<const Parameters> first_copy() override;

  // Acknowledges a push on arrival, if its worker does not wait until the push is applied.
  void acknowledge_arrival(const Push& push) {
    if (acknowledges_arrival()) acknowledge(push);
  }

 private:
  struct Hashes {
    std::optional<std::uint64_t> weights = {}, state = {};
  };
  Hashes hashes_of(const ShardServer& server) const;
  const ShardServer* shard_server() const { return all_.find(shard_); }
  std::uint32_t of_run() const { return job_.plan.first_shard + shard_; }
  std::int64_t release(const Message& answer);
  bool acknowledges_arrival() const;
  void acknowledge(const Push& push);

  ServerShards& all_;
  JobContext& job_;
  std::uint32_t shard_;
  Release cause_;
};

}  // namespace psim
