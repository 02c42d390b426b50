// The pushes of one shard that wait for their update, and which of them make it: as many as the rule of
// consistency asks for, or those that the first shard has decided on for all. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/consistency.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/worker_clocks.hpp"

namespace psim {

class UpdateRule {
 public:
  // Where it is decided which pushes make an update.
  enum class Decided : std::uint8_t {
    here,
    here_for_all,  // by the first shard, which tells the others
    elsewhere,     // by the first shard
  };
  static Decided decided(const ConsistencyRule& rule, std::uint32_t shard, std::uint32_t shards);
  struct Options {
    ConsistencyRule rule;
    Decided decided = Decided::here;
    NodeId first_worker = 2;
    std::int64_t clock_samples = 0;  // work stealing: an update is complete with so many samples
  };
  explicit UpdateRule(Options options)
      : options_(std::move(options)),
        last_computed_on_(static_cast<std::size_t>(options_.rule.workers), -1) {}

  const std::vector<Push>& pending() const { return pending_; }
  bool has(NodeId worker) const;
  // The least number of the worker's pushes that wait, or `number`, if that is less.
  std::int64_t least_of(NodeId worker, std::int64_t number) const;
  // A push has come, the last one of its worker so far; whether it waits or not.
  void met(const Push& push);
  // It came too late: no update to come takes it.
  bool is_late(const Push& push, std::int64_t version) const;
  void add(const Push& push, double now);
  void remove(const PushId& id);
  // The push of the same worker that waits, and that `next` takes the place of.
  std::optional<Push> withdraw_for(const Push& next);
  void clear() { pending_.clear(); }
  // All that wait but these, in worker order: sums never run in order of arrival.
  std::vector<Push> take_all(const std::vector<PushId>& but = {});

  // The next update, when all is here that makes it. `waits` tells of a worker by its number that it has sent
  // all that it will send before this shard has another version.
  using Waits = std::function<bool(std::uint32_t)>;
  struct Next {
    std::vector<Push> pushes = {};  // none: not yet
    std::vector<Push> late = {};
    std::optional<UpdateGroup> decision = {};  // to be told to all other shards
  };
  Next next(const WorkerClocks& workers, std::int64_t version, const Waits& waits);
  // Whether enough pushes are here, whoever decides.
  bool is_complete(const WorkerClocks& workers) const;

  // First shard: what it has decided last.
  void was_made_of(std::vector<PushId> pushes);
  const std::vector<PushId>& last() const { return last_; }
  // Others: what that is.
  void hear(const UpdateGroup& decision);
  // A push is here for which no decision is known; the version of the first shard that this is about.
  std::optional<std::int64_t> lacks_decision() const;
  // When that was asked last, or when the first push came that needs it.
  double asked() const { return asked_; }
  void ask(double now) { asked_ = now; }
  // This server owns the shard from now on: only pushes that wait tell what their workers computed on.
  void forget_others();

  // In bytes, of all that waits and is known.
  std::uint64_t bytes() const;

 private:
  struct Decision {
    std::int64_t version;         // of the first shard
    std::vector<NodeId> workers;  // whose pushes made the update of it
  };
  std::int64_t count_here(const WorkerClocks& workers) const;
  Next announced();
  Next like_the_first(const WorkerClocks& workers, const Waits& waits);
  const Decision* decision() const;
  std::optional<std::int64_t> least_first_version() const;
  std::uint32_t index_of(NodeId node) const { return node - options_.first_worker; }

  Options options_;
  std::vector<Push> pending_;
  std::vector<PushId> last_;
  std::deque<std::vector<PushId>> announced_;   // not applied here yet
  std::deque<Decision> decisions_;              // the last ones
  std::vector<std::int64_t> last_computed_on_;  // by worker: version of the first shard; -1: not known
  double asked_ = 0;
};

}  // namespace psim
