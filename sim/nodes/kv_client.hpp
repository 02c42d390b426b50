// A worker's or an inference node's side of the key-value store: asynchronous pushes and pulls of shards.
// Each call returns the timestamp of a task; a task is done when every shard that it went to has answered (Li
// et al., OSDI 2014, section 3.4). A pull depends on all pushes that were sent before it: read-my-writes.
//
// Where servers fail, a shard may be set back:
// - "Finished" is true in one ownership epoch only. When a worker hears of a new owner it asks again, also
//   while it waits for another shard. If the shard was set back, the worker computes its versions again.
// - Each answer says whether a push of the worker waits for the next update. A worker that has waited for a
//   retry, or computes an old version again, then waits only for shards with a lower version than every
//   shard that needs its push (settle). Along a chain of workers that wait for each other the versions
//   fall, so the chain cannot close.
// - Under ssp a new owner without a copy knows no clocks. A worker that has its answer already, and waits
//   for another shard, asks the new owner again; else two workers could wait for each other's clocks.
// - A shard may be cut. Both parts go on with the numbers of the whole one's pulls and pushes, which their
//   owner knows as well. A request that is not answered becomes two, and its task waits for two answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/nodes/asked_keys.hpp"
#include "sim/nodes/copy_cache.hpp"
#include "sim/nodes/job_context.hpp"
#include "sim/nodes/push_encoder.hpp"
#include "sim/nodes/requests.hpp"
#include "sim/protocol/membership.hpp"
#include "sim/protocol/retry.hpp"

namespace psim {

using Timestamp = std::int64_t;
using ShardIds = std::vector<std::uint32_t>;  // rising

class KvClient {
 public:
  // `requests`: what the node asks of others; it repeats them while it waits.
  KvClient(JobContext& job, NodeId node, Requests* requests = nullptr);

  // By worker, whether it takes part, as far as this one knows; empty where all do for good.
  const std::vector<bool>& members() const { return members_; }

  // Sparse models: from now on only these keys are pulled and pushed, those of the worker's step `step`.
  void use_keys(std::shared_ptr<const BatchKeys> keys, std::int64_t step) {
    batch_ = std::move(keys);
    step_of_batch_ = step;
  }
  const std::shared_ptr<const BatchKeys>& keys() const { return batch_; }
  // Whether what is here, or asked for, are the weights of that step.
  bool has_keys_of(std::int64_t step) const { return !batch_ || step_of_batch_ == step; }

  // Asks for weights with which `clock` may start, newer than version `above` of each shard, -1: any.
  // Any version; one newer than what is here; or such a one for which this worker's push is still to come.
  enum class Wanted : std::uint8_t { any, newer, next };
  Timestamp pull(const ShardIds& shards, std::int64_t clock, Wanted wanted);
  // What the model wants for the next step: any version of all shards, or a newer one.
  void pull_for_step(std::int64_t clock);
  // The same, of these shards only, while the step before goes on: their pushes are on their way. The pull
  // for that step leaves them out.
  void pull_ahead(const ShardIds& shards, std::int64_t clock);
  // A pull for the next version, whose answer stops the step in hand.
  void watch_for_newer(std::int64_t clock);
  // Sends each shard its part of `gradient` (null for a phantom model), the whole key space's. Done when it
  // is sent, or when the servers have acknowledged it.
  // `computed_on`: the versions, by shard, if others have come since; null: those that are here.
  using Versions = std::vector<std::int64_t>;
  Timestamp push(const ShardIds& shards, std::int64_t clock, const std::shared_ptr<Values>& gradient,
                 std::int64_t samples, KeyRange block = {}, const Versions* computed_on = nullptr);

  // Clocks that servers tell a worker to skip that was away, and that it has not taken yet; it numbers its
  // pushes without them.
  std::int64_t clocks_to_skip() const { return ahead_ - skipped_; }
  std::int64_t take_clocks_to_skip() {
    const std::int64_t clocks = clocks_to_skip();
    skipped_ = ahead_;
    cache_.forget_all();  // servers wait for a pull that says so
    return clocks;
  }

  // A worker that knows the first weights (null for a phantom model) has them as if it had pulled them; or
  // forgets them, where the others have gone on.
  void begin_with(const std::shared_ptr<Values>& weights);
  void forget();
  // A message that came before the worker waits for any.
  void take(Message message) { handle(std::move(message)); }

  // Who gets the messages that are not a server's.
  void on_other(std::function<void(const Message&)> receiver) { other_ = std::move(receiver); }

  bool done(Timestamp task) const { return !open_.contains(task); }
  // Deals with messages until `is_over`, and records for what, in which clock, and until which message.
  void wait_until(Awaited what, std::optional<std::int64_t> clock, const std::function<bool()>& is_over);
  // The same, but no longer than until a date; returns whether it is over.
  bool wait_until(Awaited what, std::optional<std::int64_t> clock, const std::function<bool()>& is_over,
                  std::optional<double> date);
  // Until the last pulls of these shards are answered.
  void wait_for(const ShardIds& shards, std::int64_t clock);
  // Until the next message to this worker is dealt with, or requests that are not answered are sent again, or
  // until a date.
  void wait_for_message(std::optional<double> date = {});
  // Deals with messages until a date.
  void listen_until(double date) {
    while (std::optional<Message> message = job_.network.receive_until(node_, date))
      handle(std::move(*message));
  }

  // What a worker that comes back after a crash learns with its first pull: the pushes that every shard has
  // of it. From here on it numbers its pushes. Returns the clock that it goes on with.
  std::int64_t resume();
  void on_view(const std::shared_ptr<const View>& view);
  std::int64_t view() const { return view_ ? view_->number : -1; }
  // The shards that there are, as far as this node knows; null: those of the plan.
  const Layout* layout() const { return view_ ? view_->layout.get() : nullptr; }
  const KeySpace& key_space() const { return job_.plan.keys_in(layout()); }

  bool answered(const ShardIds& shards) const {
    return std::ranges::none_of(shards, [this](std::uint32_t s) { return connections_[s].outstanding; });
  }
  // A step begins with all that is here.
  void use_all();
  // Whether the training needs no further step of this worker.
  bool is_over() const;
  // Then it is left to wait until all shards are finished.
  void wait_for_all(std::int64_t clock);
  bool all_finished() const;
  std::int64_t version(std::uint32_t shard) const { return connections_[shard].version; }
  Versions versions() const;
  std::int64_t least_version() const {
    return std::ranges::min_element(connections_, {}, &Connection::version)->version;
  }
  // When the first of the weights that are here left its server.
  double oldest() const { return std::ranges::min_element(connections_, {}, &Connection::left_at)->left_at; }
  std::int64_t least_version_here() const;  // of the shards that are not on their way
  const ShardIds& all_shards() const { return all_; }

  // The pulled weights of all shards. They stay here if they are needed again: those of finished shards,
  // those of a cache, and where workers update.
  std::vector<Slice> take_weights();

  // Whether `message` answers the last pull of its shard.
  bool is_expected(const Message& message) const {
    const Answer* answer = message.as<Answer>();
    if (answer == nullptr) return false;
    const Connection& shard = connections_[index_of(message)];
    return shard.outstanding && answer->number == shard.pulls;
  }

 private:
  // What is known of one shard.
  struct Connection {
    std::int64_t version = -1;  // of the weights that are here
    double left_at = 0;         // likewise: when they left their server
    std::int64_t pulls = 0;     // sent
    std::int64_t has = 0;       // the pull that the last values answered
    std::int64_t pushes = 0;    // sent
    bool outstanding = false;   // the last pull is not answered yet
    bool unused = false;        // the weights that are here have not been used for a step
    bool of_last_step =
        false;  // a step has begun while a pull of any version was outstanding: it is not for the next
    bool pulled_ahead = false;  // for the next step
    bool finished = false;      // the shard wants no more pushes; while it is asked again, it did
    bool has_push = false;      // where nodes may fail: a push of this worker waits for the next update
    std::int64_t clock = 0;     // of the last pull
    std::int64_t above = -1;    // the last pull is for a newer version
    AskedKeys keys = {};        // key caching
    Timestamp pull_task = 0;
    std::int64_t copy = -1;        // version of the worker's own weights, where workers update ...
    std::uint32_t copy_epoch = 0;  // ... of the owner that made it, or showed it
    std::shared_ptr<Parameters> parameters = {};  // where workers update
  };

  // Where nodes may fail: what the worker knows of a shard.
  struct Standing {
    NodeId owner = 0;
    std::uint32_t epoch = 0;
    std::int64_t safe = 0;  // pushes that no single crash undoes
    bool is_new = false;    // how many of the worker's pushes it has is not known yet
  };

  NodeId owner_of(std::uint32_t shard) const {
    return standings_.empty() ? job_.plan.server_of(shard) : standings_[shard].owner;
  }
  std::uint32_t epoch_of(std::uint32_t shard) const {
    return standings_.empty() ? 0 : standings_[shard].epoch;
  }
  // Messages number shards over all jobs, everything else here over this one.
  std::uint32_t index_of(const Message& message) const { return message.shard - job_.plan.first_shard; }
  // An inference node: it pushes nothing, so no shard waits for it.
  bool only_reads() const { return !job_.plan.is_worker(node_); }
  bool outstanding(std::uint32_t shard) const { return connections_[shard].outstanding; }
  // Whether weights are here that no step has begun with.
  bool unused(std::uint32_t shard) const { return connections_[shard].unused; }
  bool finished(std::uint32_t shard) const {
    return connections_[shard].finished && !connections_[shard].outstanding;
  }
  void request(std::uint32_t shard, std::int64_t clock, std::int64_t above, Timestamp task,
               bool has_pushed = true);
  bool is_ahead_of_first(std::uint32_t shard) const;
  void answered_one(Timestamp task);
  Message message_for(std::uint32_t shard, Body&& body) const;
  void handle(Message message);
  void on_answer(const Message& message, Answer answer);
  void take(std::uint32_t shard, Answer&& answer);
  void update(std::uint32_t shard, const Slice& sum, std::int64_t version);
  void lend(const Message& message, const Restore& request);
  void send(Message&& message);
  void on_ack(const Message& message, const Ack& ack);
  // Pushes `from` to `to` - 1 of a shard need not be waited for any more.
  void acknowledged(std::uint32_t shard, std::int64_t from, std::int64_t to);
  void commit(const Message& message, std::int64_t safe_pushes);
  void settle(bool has_waited);
  void repeat(double now);
  ShardIds cut(const View& view);
  bool cut(const Cut& cut);
  bool cut_weights(const Cut& cut);
  Message with_oldest(Message request) const;
  Message again(Message request) const;

  JobContext& job_;
  NodeId node_;
  Requests* requests_;
  std::vector<Connection> connections_;  // by shard
  std::vector<Slice> weights_;           // by shard, as pulled; empty while none are here
  std::vector<Standing> standings_;      // by shard; empty where nothing fails
  ShardIds all_;
  PushEncoder encoder_;
  CopyCache cache_;
  std::shared_ptr<const BatchKeys> batch_;
  std::int64_t step_of_batch_ = -1;
  // Pushes that are not acknowledged yet, by shard and number.
  std::map<std::pair<std::uint32_t, std::int64_t>, Timestamp> push_tasks_;
  bool caches_keys_ = false;             // of pulls
  std::unique_ptr<RetryQueue> retries_;  // where messages may get lost
  std::shared_ptr<const View> view_;     // the last one
  std::vector<bool> members_;            // in it
  std::int64_t begun_on_ = -1;           // the first shard's version with which the last step began
  std::int64_t ahead_ = 0, skipped_ = 0;
  Timestamp last_ = 0;
  std::function<void(const Message&)> other_;
  std::map<Timestamp, std::size_t> open_;  // answers that a task still waits for
  Heard heard_;                            // the last message
};

}  // namespace psim
