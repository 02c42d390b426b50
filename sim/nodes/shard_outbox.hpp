// What one shard of a server says while it acts for one reason: messages, and events for the record.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/nodes/server_shards.hpp"

namespace psim {

class ShardOutbox final : public Outbox {
 public:
  // `cause`: why pulls that have waited are answered now.
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

  // Acknowledges a push that has come, where its worker does not wait until it is applied.
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
