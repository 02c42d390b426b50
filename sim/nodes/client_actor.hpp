// A client of the key-value store (sim/protocol/client) in a process of its node: it sends over the simulated
// network, encodes pushes, and waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/nodes/job_context.hpp"
#include "sim/nodes/push_encoder.hpp"
#include "sim/nodes/requests.hpp"
#include "sim/protocol/client/kv_client.hpp"

namespace psim {

class ClientActor final : private ClientOutbox, public KvClient {
 public:
  // `requests`: what the node asks of others; it repeats them while it waits.
  ClientActor(JobContext& job, NodeId node, Requests* requests = nullptr);

  // Sends each shard its part of `gradient` (null for a phantom model), the whole key space's, or of a sparse
  // model's block of features.
  Timestamp push(const ShardIds& shards, std::int64_t clock, const std::shared_ptr<Values>& gradient,
                 std::int64_t samples, KeyRange block = {}, const Versions* computed_on = nullptr);
  // The first weights, which a worker knows; null for a phantom model.
  void begin_with(const std::shared_ptr<Values>& weights);
  // A message that came before the worker waits for any.
  void take(Message message) { handle(std::move(message)); }
  // Who gets the messages that are not a server's.
  void on_other(std::function<void(const Message&)> receiver) { other_ = std::move(receiver); }

  // Deals with messages until `is_over`, and records for what, in which clock, and until which message.
  void wait_until(Awaited what, std::optional<std::int64_t> clock, const std::function<bool()>& is_over);
  // The same, but no longer than until a date; returns whether it is over.
  bool wait_until(Awaited what, std::optional<std::int64_t> clock, const std::function<bool()>& is_over,
                  std::optional<double> date);
  // Until the last pulls of these shards are answered.
  void wait_for(const ShardIds& shards, std::int64_t clock);
  // Until all shards are finished, which it asks for.
  void wait_for_all(std::int64_t clock);
  // Until the next message to this worker is dealt with, or requests that are not answered are sent again, or
  // until a date.
  void wait_for_message(std::optional<double> date = {});
  // Deals with messages until a date.
  void listen_until(double date) {
    while (std::optional<Message> message = job_.network.receive_until(node_, date))
      handle(std::move(*message));
  }
  // After a crash: waits until it is known with which clock the worker goes on.
  std::int64_t resume();

 private:
  double now() const override { return Agenda::now(); }
  Cause cause() const override { return job_.recorder.causes().cause(); }
  void send(Message request) override { job_.network.send(std::move(request)); }
  void send_again(Message request, const Cause& asked) override;
  void lend(Message copy) override { job_.network.send_once(std::move(copy)); }
  bool is_under_way(const Message& request) const override { return job_.network.carries(request); }
  void give_up() override { job_.run.give_up(node_); }
  void is_safe(const Message& message, std::int64_t pushes) override;
  void received(std::uint32_t shard, const Slice& weights) override { encoder_.received(shard, weights); }
  void has_new_owner(std::uint32_t shard) override { encoder_.forget_keys(shard); }
  void was_cut(const Cut& cut, const KeySpace& keys) override { encoder_.cut(cut, keys); }
  void handle(Message message);

  JobContext& job_;
  NodeId node_;
  Requests* requests_;
  PushEncoder encoder_;
  std::function<void(const Message&)> other_;
  Heard heard_;  // the last message
};

}  // namespace psim
