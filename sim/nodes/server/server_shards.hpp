// The shards on one server. The class passes each shard its messages, and sends the shards' messages
// (server_shards.hpp).
#pragma once

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/nodes/job/job_context.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/server/shard_server.hpp"
#include "sim/record/result.hpp"

namespace psim {

// The events that a server's decisions depend on, for the record: the push of an outcome; the pull, the
// version and the own push that an answer waits for.
class ShardCauses {
 public:
  // `nodes`: the expected number of nodes that send messages to these shards.
  explicit ShardCauses(std::size_t nodes = 0) : nodes_(nodes) {}

  // A pull or a push has come. Events are known by their numbers.
  void arrives(const Message& message);
  // The arrival of a push that gets its outcome now; -1: the push came with the shard.
  std::int64_t take(std::uint32_t shard, const PushId& push);
  void has_outcome(std::uint32_t shard, const PushId& push, std::int64_t event);
  void makes(std::uint32_t shard, std::int64_t version, std::int64_t event);
  // The cause of an update that closes because its time is over: its first push, or the update before.
  std::int64_t closing(std::uint32_t shard, bool by_window) const;
  // The same for a server's shard, perhaps with the push that began its grace; -1: no update is due at `now`.
  std::int64_t closing(const ShardServer& server, double now) const;
  // The dependencies of an answer to its receiver's last pull. `server`: that of the shard; null: the shard
  // is not here.
  Dependencies of_answer(const Message& answer, const ShardServer* server) const;
  // The same, without the clock that the answer waits for.
  Dependencies of_answer(std::uint32_t shard, NodeId worker) const;

 private:
  using Numbered = boost::container::small_vector<std::pair<std::int64_t, std::int64_t>, 1>;
  // A run may have a million of these over all shards.
  struct OfWorker {
    std::int64_t arrival = -1, above = -1, pushes = 0;  // of its last pull; -1: none yet
    Numbered outcomes = {};  // of its last pushes: their rising numbers, and events
  };
  struct Arrival {
    PushId push;
    std::int64_t event = -1;
  };
  struct OfShard {
    std::vector<OfWorker> workers = {};          // by node
    Arrival newest = {};                         // most pushes get their outcome when they arrive
    std::map<PushId, std::int64_t> before = {};  // earlier arrivals of pushes without an outcome
    std::deque<std::pair<std::int64_t, std::int64_t>> versions = {};  // the last ones, and their events
  };
  OfWorker& of(std::uint32_t shard, NodeId worker);
  std::int64_t arrival_of(std::uint32_t shard, const PushId& push) const;  // -1: unknown

  std::size_t nodes_;
  std::map<std::uint32_t, OfShard> shards_;
};

// The number of values that have gone in and out of the shards of one server. The scheduler cuts shards by
// this load.
class LoadCounter {
 public:
  // `are_counted`: whether the scheduler needs these numbers.
  explicit LoadCounter(bool are_counted) : are_counted_(are_counted) {}

  // `values` values have gone through this shard. The count begins anew in each epoch of ownership.
  void add(const ShardServer& server, std::size_t values) {
    if (!are_counted_) return;
    ShardLoad& load = loads_.try_emplace(server.shard(), ShardLoad{.shard = server.shard()}).first->second;
    if (load.epoch != server.epoch()) load = {.shard = server.shard(), .epoch = server.epoch()};
    load.values += values;
  }
  // The loads of the shards in `shards` that this server leads.
  std::vector<ShardLoad> of(const std::map<std::uint32_t, ShardServer>& shards) const {
    std::vector<ShardLoad> led;
    for (const auto& [shard, load] : loads_) {
      const auto server = shards.find(shard);
      if (server == shards.end() || !server->second.leads()) continue;
      if (server->second.epoch() == load.epoch) led.push_back(load);
    }
    return led;
  }

 private:
  bool are_counted_;
  std::map<std::uint32_t, ShardLoad> loads_;  // by shard
};

// The filters between a server's shards and the nodes that pull them.
class AnswerFilters {
 public:
  explicit AnswerFilters(JobContext& job)
      : job_(job), are_on_(!filters_on(job.plan.scenario.filters, false).empty()) {}

  bool are_on() const { return are_on_; }
  // Applies the filters of this shard and receiver to an answer. Returns the flops that they cost.
  double encode(std::uint32_t shard, const Shard& place, NodeId to, Answer& answer);
  // Call it when the owner changes: another owner may have sent lists of keys in the meantime.
  void forget_keys(std::uint32_t shard);
  void erase(std::uint32_t shard);

 private:
  JobContext& job_;
  bool are_on_;
  std::map<std::pair<std::uint32_t, NodeId>, std::unique_ptr<FilterChain>> chains_;  // by shard and receiver
};

// Why a server answers waiting pulls when it handles `message`. For a pull, the result has the worker and the
// number of the pull.
Release cause_of(const Message& message);

class ServerShards {
 public:
  // `server`: the server's number, from 0.
  ServerShards(JobContext& job, std::uint32_t server);

  // The server has this shard from now on. own(): at the beginning; without weights for a phantom model.
  // received(): with the state that another node sent. first_state(): with its first weights, because no node
  // has the shard any more.
  void own(std::uint32_t shard, std::optional<Values> weights);
  ShardServer& received(std::uint32_t shard, const State& state);
  ShardServer& first_state(std::uint32_t shard);
  void erase(std::uint32_t shard) { shards_.erase(shard); }

  std::map<std::uint32_t, ShardServer>& all() { return shards_; }
  const std::map<std::uint32_t, ShardServer>& all() const { return shards_; }
  // Null if the shard is not here.
  const ShardServer* find(std::uint32_t shard) const {
    const auto found = shards_.find(shard);
    return found == shards_.end() ? nullptr : &found->second;
  }
  ShardServer* find(std::uint32_t shard) {
    const auto found = shards_.find(shard);
    return found == shards_.end() ? nullptr : &found->second;
  }
  ServerRanges ranges() const;

  // Handles a message for one shard, or for all. Returns false if it is for a shard that is not here.
  // `because`: the reason why waiting pulls are answered, if it is not the message.
  bool on(const Message& message, const std::optional<Release>& because = {});
  // The date at which a shard next closes an update with the pushes that it has. close_updates() closes the
  // updates that are due at `now`.
  std::optional<double> next_closing() const;
  void close_updates(double now);
  // Passes announcements of one shard to the other shards here.
  void take_announced();
  // Lets a shard act, for this reason. Call send_all() afterwards: it sends the shard's messages.
  void act(ShardServer& server, const Release& cause, const std::function<void(Outbox&)>& what);
  void send_all();

  // The newest view that this server knows, and its owners by shard; none where nothing fails.
  const SharedView& last_view() const { return view_; }
  std::int64_t view() const { return view_ ? view_->number : -1; }
  void set_view(const SharedView& view) { view_ = view; }
  // The shards of the newest known view.
  const KeySpace& keys() const { return job_.plan.keys_in(view_ ? view_->layout.get() : nullptr); }
  // Cuts the shards here that the view has cut. The parts become copies without a log. Returns the parts of
  // shards that this server led.
  std::set<std::uint32_t> cut();
  // The loads of the shards that this server leads.
  std::vector<ShardLoad> loads() const { return loads_.of(shards_); }
  std::map<std::uint32_t, Owner>& owners() { return owners_; }
  const std::map<std::uint32_t, Owner>& owners() const { return owners_; }

  // Discards pushes that the server will not handle, or whose group will never be complete: one push, a
  // shard's pushes, or all.
  void discard(std::uint32_t shard, const Push& push);
  void discard_pending(const ShardServer& server);
  void discard_all();
  // A push has come a second time. The server acknowledges the first one when it applies or drops it.
  // Otherwise the push comes again.
  void drop_duplicate(std::uint32_t shard, const Push& push) { record_push(Outcome::duplicate, shard, push); }
  // The job has ended: pushes have no effect from now on.
  void end();
  bool have_ended() const { return ended_; }
  // The job has ended and no node reads its shards, so the server drops them.
  bool are_gone() const { return ended_ && !job_.plan.served; }

 private:
  friend class ShardOutbox;
  void record_push(Outcome outcome, std::uint32_t shard, const Push& push,
                   std::optional<std::int64_t> staleness = {});
  ShardServer::Options options_of(std::uint32_t shard) const;
  ShardServer part_of(const ShardServer& whole, std::uint32_t shard) const;
  void count(std::uint32_t shard, std::size_t values) {
    if (const ShardServer* server = find(shard)) loads_.add(*server, values);
  }
  void take(ShardServer& server, const Message& message, const Release& cause);
  void on_decision(const Message& group, const Release& cause);
  double encode(std::uint32_t shard, NodeId to, Answer& answer);

  JobContext& job_;
  NodeId node_;
  bool ended_;
  std::map<std::uint32_t, ShardServer> shards_;
  ShardCauses causes_;
  struct Outgoing {
    Message message;
    double flops;        // the server's work before it sends
    bool is_new = true;  // else it may still be on its way
  };
  std::vector<Outgoing> outgoing_;  // messages of the shards
  AnswerFilters filters_;
  struct Announced {
    Message message;
    Release cause;
  };
  std::deque<Announced> announced_;
  LoadCounter loads_;
  SharedView view_;
  std::map<std::uint32_t, Owner> owners_;
};

// The messages of one shard of a server, and its events for the record, while it acts for one reason.
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
