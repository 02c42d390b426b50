// The shards on one server. The class passes each shard its messages, and sends the shards' messages
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

}  // namespace psim
