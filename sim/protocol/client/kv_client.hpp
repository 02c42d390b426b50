// A worker's or an inference node's side of the key-value store: asynchronous pushes and pulls of shards. A
// pull depends on all pushes that were sent before it: read-my-writes. Pure: no SimGrid, no clock of its own;
// ClientActor (sim/nodes) is the process that waits.
//
// Where servers fail, a shard may be set back:
// - "Finished" is true in one ownership epoch only. When a worker hears of a new owner it asks again, also
//   while it waits for another shard. If the shard was set back, the worker computes the lost versions again.
// - Each answer says whether a push of the worker waits for the next update. A worker that has waited for a
//   retry, or computes an old version again, then waits only for some shards: their version must be lower
//   than the version of every shard that needs its push (settle). Along a chain of workers that wait for each
//   other the versions fall, so the chain cannot become a circle.
// - Under ssp a new owner without a copy knows no clocks. So a worker that already has its answer, and waits
//   for another shard, asks the new owner again. Otherwise two workers could wait for each other's clocks.
// - A shard may be cut. Both parts continue the numbers of the whole shard's pulls and pushes, and their
//   owner knows these numbers, too. An open request becomes two requests, and its task waits for two answers.
#pragma once

#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/optimizer.hpp"
#include "model/parameters.hpp"
#include "sim/protocol/cause.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/protocol/key_space.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/protocol/retry.hpp"

namespace psim {

// Key caching between a worker and the owner of one shard, for the worker's pulls and their answers. The
// owner has the key list of every pull that it has answered.
class AskedKeys {
 public:
  // The key list of a pull for these keys; null: all keys.
  KeyList list(const SharedKeys& keys) {
    last_ = keys && !keys->empty() ? XXH3_64bits(keys->data(), keys->size() * sizeof keys->front()) : 0;
    return {.signature = last_, .bytes_listed = last_ != 0 && answered_ == last_ ? 1U : 0U};
  }
  // The owner has answered the last pull.
  void answered() {
    if (last_ != 0) answered_ = last_;
  }
  // Whether the keys of an answer are known.
  bool reads(const KeyList& list) {
    if (!list.is_listed() && told_ != list.signature) return false;
    if (list.signature != 0) told_ = list.signature;
    return true;
  }
  // The shard has another owner.
  void forget() { answered_ = told_ = 0; }

 private:
  std::uint64_t answered_ = 0, told_ = 0, last_ = 0;  // signatures; 0: none
};

// The weights that a worker keeps between pulls (Bösen, Angel). It asks for a shard only if its copy lacks
// pushes that the staleness bound promises (Ho et al., NIPS 2013: a read at clock t has all pushes of clocks
// up to t - s - 1). Between pulls it applies its own pushes to the copy: read-my-writes.
class CopyCache {
 public:
  struct Options {
    std::vector<StalenessBound> bounds = {};  // by shard; none without a cache
    std::int64_t steps = 0;                   // clocks of each worker
    // The update that a server makes of one push alone, as plain SGD.
    double share = 1;             // of the learning rate
    std::int64_t batch_size = 1;  // samples of a push that counts as one
    LearningRate learning_rate = {};
    Epochs epochs = {};
  };
  explicit CopyCache(Options options) : options_(std::move(options)), clocks_(options_.bounds.size()) {}

  bool is_on() const { return !clocks_.empty(); }
  // A shard's weights have come; they have every worker's pushes before clock `slowest`.
  void received(std::uint32_t shard, std::int64_t slowest) {
    if (is_on()) clocks_[shard] = slowest;
  }
  // The shard has another owner, and perhaps another history.
  void forget(std::uint32_t shard) {
    if (is_on()) clocks_[shard].reset();
  }
  void forget_all() { clocks_.assign(clocks_.size(), std::nullopt); }
  // The shard becomes two; the new one has the next free number.
  void cut(std::uint32_t shard);
  // Whether `clock` may start with the worker's copy. The last pull always asks for new weights, because it
  // tells the servers that the worker has finished.
  bool does(std::uint32_t shard, std::int64_t clock) const;
  // The shard's copy `weights` after this worker's own push of `samples` samples. `gradient` is the shard's
  // part of the push, without values for a phantom model.
  Slice with_own_push(const Slice& weights, const Slice& gradient, std::int64_t clock,
                      std::int64_t samples) const;

 private:
  Options options_;
  std::vector<std::optional<std::int64_t>> clocks_;  // by shard; none: no copy
};

// The tasks of a client: pulls and pushes of several shards at once, each with a timestamp. A task is done
// when every shard that it went to has answered (Li et al., OSDI 2014, section 3.4).

using Timestamp = std::int64_t;

class OpenTasks {
 public:
  Timestamp begin() { return ++last_; }
  // The task waits for one more answer.
  void expect(Timestamp task) { ++open_[task]; }
  void answered(Timestamp task) {
    const auto it = open_.find(task);
    expects(it != open_.end(), "an answered task is open");
    if (--it->second == 0) open_.erase(it);
  }
  bool is_done(Timestamp task) const { return !open_.contains(task); }

  // The task waits for the acknowledgement of one push.
  void expect_push(Timestamp task, std::uint32_t shard, std::int64_t number) {
    pushes_[{shard, number}] = task;
    expect(task);
  }
  // No task waits any more for the pushes `from` to `to` - 1 of a shard.
  void pushes_answered(std::uint32_t shard, std::int64_t from, std::int64_t to) {
    const auto end = pushes_.lower_bound({shard, to});
    for (auto push = pushes_.lower_bound({shard, from}); push != end; push = pushes_.erase(push))
      answered(push->second);
  }
  // Each waiting push of `shard` now also waits for an acknowledgement of `upper`.
  void cut(std::uint32_t shard, std::uint32_t upper) {
    auto push = pushes_.lower_bound({shard, 0});
    for (; push != pushes_.end() && push->first.first == shard; ++push)
      expect_push(push->second, upper, push->first.second);
  }

 private:
  std::map<Timestamp, std::size_t> open_;                               // answers that each task waits for
  std::map<std::pair<std::uint32_t, std::int64_t>, Timestamp> pushes_;  // by shard and number
  Timestamp last_ = 0;
};

// A client that runs the optimizer itself, on the sums that servers send.
class OptimizerCopies {
 public:
  struct Options {
    OptimizerSpec optimizer = {};
    Storage storage = {};
    LearningRate learning_rate = {};
    Epochs epochs = {};
  };
  OptimizerCopies(Options options, std::size_t shards) : options_(std::move(options)), copies_(shards) {}

  // Takes an answer: the first weights, another worker's copy, the sum that makes the next version, or
  // nothing if the client already has that version. `weights`: the client's weights of the shard, which has
  // `count` values.
  void take(std::uint32_t shard, Answer&& answer, std::uint32_t epoch, std::size_t count, Slice& weights);
  std::int64_t version(std::uint32_t shard) const { return copies_[shard].version; }
  // For a server that needs this worker's copy for another worker, or has lost the shard.
  State lend(std::uint32_t shard, const Restore& request, std::size_t count) const;
  // The shard becomes two; the new one has the next free number.
  void cut(std::uint32_t shard) { copies_.push_back(WorkerCopy(copies_[shard])); }

 private:
  struct WorkerCopy {
    std::int64_t version = -1;
    std::uint32_t epoch = 0;  // of the owner that made it, or showed it
    std::shared_ptr<Parameters> parameters = {};
  };
  void update(WorkerCopy& copy, const Slice& sum, std::int64_t version, Slice& weights);

  Options options_;
  std::vector<WorkerCopy> copies_;  // by shard
};

// The weights that a client has pulled, and for a sparse model the batch of keys that they belong to.
class PulledWeights {
 public:
  explicit PulledWeights(std::size_t shards) : shards_(shards) {}

  // From now on the client pulls and pushes only these keys, which belong to the worker's step `step`.
  void use_keys(std::shared_ptr<const BatchKeys> keys, std::int64_t step) {
    batch_ = std::move(keys);
    step_of_batch_ = step;
  }
  const std::shared_ptr<const BatchKeys>& keys() const { return batch_; }  // null: all
  SharedKeys keys_of(std::uint32_t shard) const { return batch_ ? batch_->local[shard] : nullptr; }
  // Whether the present or requested weights are those of that step.
  bool has_keys_of(std::int64_t step) const { return !batch_ || step_of_batch_ == step; }

  bool empty() const { return slices_.empty(); }
  Slice& of(std::uint32_t shard) {
    if (slices_.empty()) slices_.resize(shards_);
    return slices_[shard];
  }
  void clear() { slices_.clear(); }
  // The weights of all shards. A copy of the shards for which `stays` is true remains.
  std::vector<Slice> take(const std::function<bool(std::uint32_t)>& stays);

  // A shard becomes two. Returns false if it is unknown which of the present weights belong to which part:
  // the weights of a sparse model belong to a batch, and that is not always the current batch.
  bool cut(const Cut& cut);
  // Called after the last cut.
  void use_layout(const KeySpace& keys) {
    if (batch_) batch_ = std::make_shared<const BatchKeys>(split(batch_->keys, keys));
  }

 private:
  std::size_t shards_;
  std::vector<Slice> slices_;  // by shard; empty without weights
  std::shared_ptr<const BatchKeys> batch_;
  std::int64_t step_of_batch_ = -1;
};

// The interface between a client and the process and network around it.

// Receives a client's messages and decisions. Shards are numbered within the job.
class ClientOutbox {
 public:
  virtual ~ClientOutbox() = default;
  virtual double now() const = 0;             // seconds
  virtual Cause cause() const { return {}; }  // of the client's current action
  virtual void send(Message request) = 0;     // for the first time, or to a shard's new owner
  // The client repeats a request without an answer; `asked` is the cause of the first request.
  virtual void send_again(Message request, const Cause& asked) = 0;
  virtual void lend(Message copy) = 0;  // this worker's weights, to a server that asks for them
  // Whether the request or its answer may be lost. Otherwise a repetition would only delay them.
  virtual Due due(const Message& /*request*/) const { return Due::repeated; }
  virtual void give_up() {}
  // The server says in this message that the worker's first `pushes` pushes are safe.
  virtual void is_safe(const Message& /*message*/, std::int64_t /*pushes*/) {}
  virtual void received(std::uint32_t /*shard*/, const Slice& /*weights*/) {}
  virtual void has_new_owner(std::uint32_t /*shard*/) {}
  // A shard becomes two; `keys`: the shards after the cut.
  virtual void was_cut(const Cut& /*cut*/, const KeySpace& /*keys*/) {}
};

// A client's requests where messages may get lost. The client repeats each request until it is answered, and
// also sends it to the shard's new owner. Each request gives the number of the first push that the client can
// still repeat.
class ReliableRequests {
 public:
  // The number of pushes that the client has sent to a shard. Shards have their number in the run.
  using PushesTo = std::function<std::int64_t(std::uint32_t)>;
  ReliableRequests(RetrySpec spec, ClientOutbox& out, PushesTo pushes_to)
      : queue_(spec), out_(out), pushes_to_(std::move(pushes_to)) {}

  RetryQueue& queue() { return queue_; }
  const RetryQueue& queue() const { return queue_; }

  void send(Message request);
  // Repeats the requests that are due.
  void repeat(double now);
  // Sends all requests of the shard to this new owner.
  void send_to(std::uint32_t shard, const Owner& owner);

 private:
  Message with_oldest(Message request) const;
  Message again(Message request) const;

  RetryQueue queue_;
  ClientOutbox& out_;
  PushesTo pushes_to_;
};

using ShardIds = std::vector<std::uint32_t>;  // rising

class KvClient {
 public:
  struct Options {
    NodeId node = 2;
    std::uint32_t first_shard = 0;   // of its job, in messages and views
    std::vector<NodeId> owners;      // of the shards, at the start
    const KeySpace* keys = nullptr;  // the shards, at the start
    std::uint32_t first_index = 0;   // in views: of its job's workers
    std::shared_ptr<const ConsistencyRule> rule = {};
    bool only_reads = false;    // an inference node: it pushes nothing, so no shard waits for it
    bool acknowledges = false;  // servers acknowledge pushes
    bool caches_keys = false;   // key caching of pulls
    std::size_t bytes_per_key = 4;
    std::optional<RetrySpec> retry = {};  // where messages may get lost
    CopyCache::Options cache = {};
    std::optional<OptimizerCopies::Options> copies = {};  // where workers run the optimizer on servers' sums
  };
  KvClient(Options options, ClientOutbox& out);
  KvClient(const KvClient&) = delete;
  KvClient& operator=(const KvClient&) = delete;

  // An answer, an acknowledgement, a view, or a request for this worker's copy; ignores all others.
  void on(Message message);

  // Which workers take part, as far as this worker knows; empty where all of them always do.
  const std::vector<bool>& members() const { return members_; }

  // Sparse models: from now on the client pulls and pushes only these keys, which belong to the worker's step
  // `step`.
  void use_keys(std::shared_ptr<const BatchKeys> keys, std::int64_t step) {
    weights_.use_keys(std::move(keys), step);
  }
  const std::shared_ptr<const BatchKeys>& keys() const { return weights_.keys(); }
  // Whether the present or requested weights are those of that step.
  bool has_keys_of(std::int64_t step) const { return weights_.has_keys_of(step); }

  // Asks for weights with which `clock` may start. any: any version. newer: a version newer than the
  // client's. next: a newer version that still needs this worker's push.
  enum class Wanted : std::uint8_t { any, newer, next };
  Timestamp pull(const ShardIds& shards, std::int64_t clock, Wanted wanted);
  // The pull that the model requires for the next step: any version of all shards, or a newer version.
  void pull_for_step(std::int64_t clock);
  // The same pull, for these shards only, while the previous step still runs: their pushes are on their way.
  // The later pull for that step omits these shards.
  void pull_ahead(const ShardIds& shards, std::int64_t clock);
  // A pull for the first version at which the current step's push is too late. Its answer stops the step.
  void watch_for_newer(std::int64_t clock);
  // The step was stopped, and the worker begins its clock again, with the weights that have come.
  void begin_again() {
    for (OfShard& shard : shards_) shard.pulled_ahead = shard.unused && !shard.outstanding && !keys();
  }
  // A pull for the shards that are not finished and have no pull on its way.
  void pull_unfinished(std::int64_t clock);
  // The work behind a gradient.
  struct Work {
    std::int64_t samples = 1;  // of each batch
    std::int64_t batches = 1;
    double seconds = 0;  // of computation
  };
  // Sends each shard its part of a gradient. The task is done when all parts are sent,
  // or, with acknowledgements, when the servers have acknowledged them. `computed_on`: the versions, by
  // shard, on which the gradient was computed, if newer versions have come since; null: the present versions.
  struct GradientPart {
    Payload payload;  // in the form in which it travels
    Slice values;     // for the copies of a cache: before filters
  };
  using Versions = std::vector<std::int64_t>;
  Timestamp push(const ShardIds& shards, std::int64_t clock, const Work& work,
                 const std::function<GradientPart(std::uint32_t)>& part_of,
                 const Versions* computed_on = nullptr);

  // Servers tell a worker that was away how many clocks to skip. This function returns the clocks that it has
  // not skipped yet. The worker's push numbers do not count skipped clocks.
  std::int64_t clocks_to_skip() const { return ahead_ - skipped_; }
  std::int64_t take_clocks_to_skip() {
    const std::int64_t clocks = clocks_to_skip();
    skipped_ = ahead_;
    cache_.forget_all();  // servers wait for a pull that reports the skipped clocks
    return clocks;
  }

  // A worker that knows the first weights, by shard, starts as if it had pulled them. forget() drops them
  // when the others are already in later clocks.
  void begin_with(std::vector<Slice> weights);
  void forget();

  bool done(Timestamp task) const { return tasks_.is_done(task); }
  // The date of the next repetition of a request, and the repetitions.
  std::optional<double> next_repetition() const {
    return reliable_ ? reliable_->queue().next() : std::nullopt;
  }
  void repeat(double now);

  // A worker comes back after a crash: it asks every shard for the number of its pushes there. When that task
  // is done, resume() returns the worker's next clock; the numbers of its pushes continue from there.
  Timestamp ask_where_to_resume();
  std::int64_t resume();

  void on_view(const std::shared_ptr<const View>& view);
  const std::shared_ptr<const View>& last_view() const { return view_; }  // null: none yet
  std::int64_t view() const { return view_ ? view_->number : -1; }        // its number
  // The current shards, as far as this node knows; null: those of the plan.
  const Layout* layout() const { return view_ ? view_->layout.get() : nullptr; }
  const KeySpace& key_space() const { return layout() != nullptr ? layout()->keys : *options_.keys; }

  bool answered(const ShardIds& shards) const {
    return std::ranges::none_of(shards, [this](std::uint32_t s) { return shards_[s].outstanding; });
  }
  // A step begins with all present weights.
  void use_all();
  // Whether the training needs no further step of this worker.
  bool is_over() const;
  bool all_finished() const;
  std::int64_t version(std::uint32_t shard) const { return shards_[shard].version; }
  Versions versions() const;
  std::int64_t least_version() const {
    return std::ranges::min_element(shards_, {}, &OfShard::version)->version;
  }
  // The date when the oldest of the present weights left its server.
  double oldest() const { return std::ranges::min_element(shards_, {}, &OfShard::left_at)->left_at; }
  std::int64_t least_version_here() const;  // of the shards without a pull on its way
  const ShardIds& all_shards() const { return all_; }

  // Whether it keeps weights between pulls.
  bool caches_weights() const { return cache_.is_on(); }
  // The pulled weights of all shards. The client keeps a copy of the weights that it needs again: those of
  // finished shards, those of a cache, and all weights where workers run the optimizer.
  std::vector<Slice> take_weights();

  // Whether `message` answers the last pull of its shard.
  bool is_expected(const Message& message) const {
    const Answer* answer = message.as<Answer>();
    if (answer == nullptr) return false;
    const OfShard& shard = shards_[index_of(message)];
    return shard.outstanding && answer->number == shard.pulls;
  }

 private:
  struct OfShard {
    NodeId owner = 0;
    std::uint32_t epoch = 0;
    std::int64_t version = -1;  // of the present weights
    double left_at = 0;         // when the present weights left their server
    std::int64_t pulls = 0;     // sent
    std::int64_t has = 0;       // the pull that the last values answered
    std::int64_t pushes = 0;    // sent
    bool outstanding = false;   // the last pull is not answered yet
    bool unused = false;        // no step has used the present weights yet
    // A step has begun while a pull of any version was open: that pull is not for the next step.
    bool of_last_step = false;
    bool pulled_ahead = false;  // for the next step
    bool finished = false;      // the shard wants no more pushes; while it is asked again: it wanted none
    bool has_push = false;      // where nodes may fail: a push of this worker waits for the next update
    bool is_new = false;        // ... the number of the worker's pushes that it has is not known yet
    std::int64_t clock = 0;     // of the last pull
    std::int64_t above = -1;    // the last pull is for a newer version
    Timestamp pull_task = 0;
    AskedKeys keys = {};    // key caching
    std::int64_t safe = 0;  // where nodes may fail: pushes that no single crash undoes
  };

  std::uint32_t index_of(const Message& message) const { return message.shard - options_.first_shard; }
  bool outstanding(std::uint32_t shard) const { return shards_[shard].outstanding; }
  // Whether the client has weights that no step has begun with.
  bool unused(std::uint32_t shard) const { return shards_[shard].unused; }
  bool finished(std::uint32_t shard) const { return shards_[shard].finished && !shards_[shard].outstanding; }
  void request(std::uint32_t shard, std::int64_t clock, std::int64_t above, Timestamp task,
               bool has_pushed = true);
  bool is_ahead_of_first(std::uint32_t shard) const;
  Message message_for(std::uint32_t shard, Body&& body) const;
  void send(Message&& request);
  void on_answer(const Message& message, Answer answer);
  void on_ack(const Message& message, const Ack& ack);
  void lend(const Message& message, const Restore& request);
  void commit(const Message& message, std::int64_t safe_pushes);
  void settle(bool has_waited);
  ShardIds cut(const View& view);
  bool cut(const Cut& cut);
  void on_owner(std::uint32_t shard, const Owner& owner);

  Options options_;
  ClientOutbox& out_;
  std::vector<OfShard> shards_;
  ShardIds all_;
  OpenTasks tasks_;
  PulledWeights weights_;
  CopyCache cache_;
  std::optional<OptimizerCopies> copies_;
  std::optional<ReliableRequests> reliable_;  // where messages may get lost
  std::shared_ptr<const View> view_;
  std::vector<bool> members_;   // members of that view
  std::int64_t begun_on_ = -1;  // the first shard's version at the start of the last step
  std::int64_t ahead_ = 0, skipped_ = 0;
};

}  // namespace psim
