// A client of the key-value store (sim/protocol/client) in a process of its node. It sends over the simulated
// network, encodes pushes, and waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/job/requests.hpp"
#include "sim/protocol/client/kv_client.hpp"

namespace psim {

// Makes a worker's message to each shard: the shard's part of a gradient, after the filters.
class PushEncoder {
 public:
  PushEncoder(JobContext& job, NodeId node);

  // The weights of a shard have come. The filter kkt compares with them, and own steps begin with them.
  void received(std::uint32_t shard, const Slice& weights) {
    if (!last_weights_.empty()) last_weights_[shard] = weights;
  }
  // The shard has a new owner, which has none of the lists of keys.
  void forget_keys(std::uint32_t shard) {
    if (!filters_.empty()) filters_[shard]->forget_keys();
  }
  // Shard `cut.shard` becomes two; `keys` are the shards after the cut.
  void cut(const Cut& cut, const KeySpace& keys);
  // Encodes the shard's part of `gradient` (null for a phantom model). `gradient` has the
  // values of `batch`, or of the whole key space if `batch` is null. Only the values of `block` go into the
  // message. Spends the time that the filters cost.
  Encoded encode(std::uint32_t shard, const std::shared_ptr<Values>& gradient, const BatchKeys* batch,
                 KeyRange block);

 private:
  struct Content {
    Slice values;
    SharedKeys keys;  // null: the whole shard
    Slice weights;    // of these values; set only if a filter needs them
  };
  Content part_of(std::uint32_t shard, const std::shared_ptr<Values>& gradient, const BatchKeys* batch,
                  KeyRange block) const;

  JobContext& job_;
  NodeId node_;
  const KeySpace* keys_;                               // the current shards
  std::vector<std::unique_ptr<FilterChain>> filters_;  // by shard; empty without filters
  std::vector<Slice> last_weights_;                    // by shard; empty if not needed
};

class ClientActor final : private ClientOutbox, public KvClient {
 public:
  // `requests`: the node's requests to other nodes. The client repeats them while it waits.
  ClientActor(JobContext& job, NodeId node, Requests* requests = nullptr);

  // Sends each shard its part of `gradient` (null for a phantom model). `gradient` covers the whole key
  // space, or, for a sparse model, a block of features.
  Timestamp push(const ShardIds& shards, std::int64_t clock, const std::shared_ptr<Values>& gradient,
                 const Work& work, KeyRange block = {}, const Versions* computed_on = nullptr);
  // Starts with the first weights, which a worker knows; null for a phantom model.
  void begin_with(const std::shared_ptr<Values>& weights);
  // Handles a message that came before the worker waits for messages.
  void take(Message message) { handle(std::move(message)); }
  // `receiver` gets all messages that do not come from a server.
  void on_other(std::function<void(const Message&)> receiver) { other_ = std::move(receiver); }

  // Handles messages until `is_over`. Records the reason of the wait, its clock, and the message that ended
  // it.
  void wait_until(Awaited what, std::optional<std::int64_t> clock, const std::function<bool()>& is_over);
  // The same, but at most until a date; returns whether `is_over` is true.
  bool wait_until(Awaited what, std::optional<std::int64_t> clock, const std::function<bool()>& is_over,
                  std::optional<double> date);
  // Waits until the servers have answered the last pulls of these shards.
  void wait_for(const ShardIds& shards, std::int64_t clock);
  // Asks for unfinished shards and waits until all shards are finished.
  void wait_for_all(std::int64_t clock);
  // Handles the next message to this worker, or sends unanswered requests again when this is due. Waits at
  // most until a date.
  void wait_for_message(std::optional<double> date = {});
  // Handles messages until a date.
  void listen_until(double date) {
    while (std::optional<Message> message = job_.network.receive_until(node_, date))
      handle(std::move(*message));
  }
  // After a crash: waits until the client knows the clock at which the worker continues.
  std::int64_t resume();

 private:
  double now() const override { return Agenda::now(); }
  Cause cause() const override { return job_.recorder.causes().cause(); }
  void send(Message request) override { job_.network.send(std::move(request)); }
  void send_again(Message request, const Cause& asked) override;
  void lend(Message copy) override { job_.network.send_once(std::move(copy)); }
  Due due(const Message& request) const override { return job_.due(request); }
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
