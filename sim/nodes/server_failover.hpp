// A server's place in the views that the scheduler announces: owner of a shard, holder of a copy, or neither.
// A server that is to own a shard asks everybody who may have some of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sim/nodes/server_shards.hpp"

namespace psim {

class ServerFailover {
 public:
  ServerFailover(JobContext& job, NodeId node, ServerShards& shards)
      : job_(job), node_(node), shards_(shards), asks_(job.plan.retry()) {}

  void on_view(const SharedView& view);
  // A shard, or what is new of it: from its owner, a copy, or the storage.
  void on_state(const Message& message, const State& state);
  // The next owner of a shard asks for it.
  void hand_over(const Message& message, const Restore& request);
  // An entry has come for the log of a shard that is not here.
  void lacks_state(const Message& entry);
  // Whether this server has to wait for a view, or for a shard, before it can deal with the message.
  bool is_early(const Message& message) const;

  // When to say again what is not answered.
  std::optional<double> next_turn() const;
  void repeat(double now);

  // All shards are elsewhere. `has_got` tells whether a new owner has the shard that it is to get from here.
  bool has_given_all(const std::function<bool(std::uint32_t shard, const Owner&)>& has_got) const;

 private:
  void take_place(std::uint32_t shard, const Owner& owner, const Release& cause);
  bool holds_copy(const Owner& owner) const;
  std::optional<NodeId> next_in_chain(const Owner& owner) const;
  void lead(ShardServer& server, const Owner& owner, const Release& cause);
  std::optional<NodeId> next_peer(std::uint32_t shard) const;
  bool has_newest(std::uint32_t shard) const;
  void start_asking(std::uint32_t shard, const Release& cause);
  void ask_again(const Release& cause);
  void ask_for(std::uint32_t shard, const Release& cause);
  void begin(std::uint32_t shard, const Release& cause);
  void on_peer(const Message& message, const State& answer);
  void on_copy(const Message& message, const State& copy);
  void confirm(std::uint32_t shard, const Owner& owner, std::optional<std::int64_t> entries);

  JobContext& job_;
  NodeId node_;
  ServerShards& shards_;
  std::vector<bool> members_;                         // in the last view: workers that take part
  std::map<std::uint32_t, std::set<NodeId>> wanted_;  // shards to own, and who has said what it has ...
  std::map<std::uint32_t, State> copies_;  // of these, where workers run the optimizer: the newest so far
  std::set<std::uint32_t> led_;            // cut by the view that is just heard, and led from here until then
  double asked_ = 0, asks_again_after_ = 0;  // ... others were asked at this date, for so long
  Backoff asks_;
};

}  // namespace psim
