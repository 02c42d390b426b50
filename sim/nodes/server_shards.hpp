// The shards that are on one server: gives each its messages, and sends what it has to say
// (shard_outbox.hpp).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/nodes/answer_filters.hpp"
#include "sim/nodes/job_context.hpp"
#include "sim/nodes/load_counter.hpp"
#include "sim/nodes/shard_causes.hpp"
#include "sim/protocol/server/shard_server.hpp"
#include "sim/record/result.hpp"

namespace psim {

// Why pulls that have waited are answered, when a server handles `message`. Of a pull: whose it is, and its
// number.
Release cause_of(const Message& message);

class ServerShards {
 public:
  // `server`: from 0.
  ServerShards(JobContext& job, std::uint32_t server);

  // The server has this shard from now on: at first, without weights that of a phantom model; as somebody
  // sent it; or with its first weights, because nobody has it any more.
  void own(std::uint32_t shard, std::optional<Values> weights);
  ShardServer& received(std::uint32_t shard, const State& state);
  ShardServer& first_state(std::uint32_t shard);
  void erase(std::uint32_t shard) { shards_.erase(shard); }

  std::map<std::uint32_t, ShardServer>& all() { return shards_; }
  const std::map<std::uint32_t, ShardServer>& all() const { return shards_; }
  // Null when it is not here.
  const ShardServer* find(std::uint32_t shard) const {
    const auto found = shards_.find(shard);
    return found == shards_.end() ? nullptr : &found->second;
  }
  ShardServer* find(std::uint32_t shard) {
    const auto found = shards_.find(shard);
    return found == shards_.end() ? nullptr : &found->second;
  }
  ServerRanges ranges() const;

  // A message for a shard, or for all of them; false when it is for one that is not here. `because`: why
  // pulls that wait are answered, if it is not the message.
  bool on(const Message& message, const std::optional<Release>& because = {});
  // When the next update of a shard is made of the pushes that are there; and the making of those due at
  // `now`.
  std::optional<double> next_closing() const;
  void close_updates(double now);
  // What one of the shards has said to the others here.
  void take_announced();
  // Lets a shard that is here act, for this reason. What it has to say is sent with send_all().
  void act(ShardServer& server, const Release& cause, const std::function<void(Outbox&)>& what);
  void send_all();

  // The last view that is known here, and its owners, by shard; none where nothing fails.
  const SharedView& last_view() const { return view_; }
  std::int64_t view() const { return view_ ? view_->number : -1; }
  void set_view(const SharedView& view) { view_ = view; }
  // The shards that there are, as far as is known here.
  const KeySpace& keys() const { return job_.plan.keys_in(view_ ? view_->layout.get() : nullptr); }
  // Cuts what is here of shards that the view has cut; the parts are copies, in step with no log. Returns
  // those of shards that were led from here.
  std::set<std::uint32_t> cut();
  // What went through the shards that are led from here.
  std::vector<ShardLoad> loads() const { return loads_.of(shards_); }
  std::map<std::uint32_t, Owner>& owners() { return owners_; }
  const std::map<std::uint32_t, Owner>& owners() const { return owners_; }

  // A push that will not be handled any more, or whose group will never be complete; those of a shard, or of
  // all.
  void discard(std::uint32_t shard, const Push& push);
  void discard_pending(const ShardServer& server);
  void discard_all();
  // A push that is here a second time. The one before it is acknowledged when it is applied or dropped; or it
  // will come again.
  void drop_duplicate(std::uint32_t shard, const Push& push) { record_push(Outcome::duplicate, shard, push); }
  // The job has ended: nothing that is pushed counts any more.
  void end();
  bool have_ended() const { return ended_; }
  // ... and nobody reads its shards: they are thrown away.
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
    double flops;        // of the server, before it is sent
    bool is_new = true;  // else it may still be on its way
  };
  std::vector<Outgoing> outgoing_;  // what shards have said
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

}  // namespace psim
