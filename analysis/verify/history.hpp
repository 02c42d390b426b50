// The owners of each shard over time, and the content of their states, from the events. The owners of a shard
// form a tree: each owner continues an earlier owner from some version on; later updates of the earlier owner
// are undone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/run_record.hpp"

namespace psim::analysis {

using PushNumbers = std::vector<bool>;  // of pushes of one worker
bool has(const PushNumbers& numbers, std::int64_t number);
void add(PushNumbers& numbers, std::int64_t number);

// The part of one worker in the state of a shard at a server.
struct Count {
  bool member = true;        // takes part, as far as the server knows
  bool behind = false;       // has returned, and no worker waits for it yet
  std::int64_t ahead = 0;    // clocks that it skipped while away, without pushes
  std::int64_t base = 0;     // pushes that count as applied but were not
  std::int64_t arrived = 0;  // pushes that counted as arrived at the takeover
  std::int64_t mark = 0;     // highest applied number + 1
  // The event since which others wait for this worker, if they do; -1: since the beginning.
  std::int64_t awaited_from = -1;
  PushNumbers applied;
  bool has(std::int64_t number) const { return analysis::has(applied, number); }
  void add(std::int64_t number);
  std::int64_t counted() const { return std::max(base, mark); }
  std::int64_t clock() const { return counted() + ahead; }
  // The number of the worker's first pushes at the server, including those that came with the shard.
  std::int64_t here() const { return std::max(counted(), arrived); }
  // Whether others have waited for it without a break since that event.
  bool is_awaited_since(std::int64_t event) const { return member && !behind && awaited_from <= event; }
};

struct Application {
  std::uint32_t worker;
  std::int64_t number, version, event;
};

// The time of one server as owner of a shard.
struct Ownership {
  std::uint32_t shard = 0, node = 0;
  std::int64_t epoch = 0;
  const Ownership* before = nullptr;  // the owner whose history it continues
  std::int64_t from = 0;              // its first version
  std::int64_t version = 0;           // its newest version
  std::int64_t promoted = -1;         // event of the promotion; -1: owner from the beginning
  bool over = false;                  // the server crashed
  bool fresh = false;                 // just promoted: its counts still come
  bool of_whole = false;              // its shard was cut since: hashes of parts are unknown
  // Nodes with everything that was acknowledged: alive, and with a place in every view since.
  std::set<std::uint32_t> holders = {};
  // For versions from + 1 on: hashes of the weights, and of everything that the next update depends on.
  struct Hashes {
    explicit Hashes(const auto& event)
        : weights(event.weights_hash.value_or(0)), state(event.state_hash.value_or(0)) {}
    std::uint64_t weights, state;
  };
  std::vector<Hashes> hashes = {};
  std::vector<Application> applications = {};
  std::vector<Count> workers = {};
  bool in_lineage(std::uint32_t worker, std::int64_t number) const { return workers[worker].has(number); }
  // The hashes at version `at` in the history of this owner; none if unknown.
  std::optional<Hashes> hashes_at(std::int64_t at) const;
};

struct ShardHistory {
  std::map<std::int64_t, Ownership> ownerships;   // by epoch
  std::map<std::uint32_t, Ownership*> of_server;  // last ownership of each server
  std::vector<PushNumbers> dropped, given_up;     // by worker
  bool set_back = false;  // a new owner lacked updates, or pushes of a worker were given up
  const Ownership& owner() const { return ownerships.rbegin()->second; }
};

class History {
 public:
  History(const Facts& facts, bool watched);

  // Updates the history with the event. Checks see the event afterwards.
  void on(const Row& row);

  const Facts& facts() const { return facts_; }
  // The ownership of `server` as it sees itself.
  Ownership& ownership(std::uint32_t shard, std::uint32_t server);
  // The newest owner of the shard, or its owner `server`. Null before any node has done anything.
  const Ownership* owner(std::uint32_t shard) const;
  const Ownership* find(std::uint32_t shard, std::uint32_t server) const;
  // The shard that this shard was cut from; none if the placement made it.
  std::optional<std::uint32_t> cut_from(std::uint32_t shard) const {
    const auto cut = cuts_.find(shard);
    return cut == cuts_.end() ? std::nullopt : std::optional(cut->second.shard);
  }
  // The epoch that begins with the cut, for both parts.
  std::int64_t cut_epoch(std::uint32_t shard) const { return cuts_.at(shard).epoch; }
  // Tracks the versions of shards. A new owner may have an older version than the last owner. A part of a cut
  // shard begins at the version of the whole. Before an owner knows of the cut, it updates both parts.
  void follow_versions(const Row& row, std::map<std::uint32_t, std::int64_t>& versions) const;
  const ShardHistory& shard(std::uint32_t shard) const { return shards_.at(shard); }

  // The push was dropped or given up.
  bool will_not_come(std::uint32_t shard, std::uint32_t worker, std::int64_t push) const;

  // About the last event: whether the push had been applied before; the version before the update; whether
  // the epoch had another owner; whether a live node had a full copy at the last promotion.
  bool repeated() const { return repeated_; }
  std::int64_t last_version() const { return last_version_; }
  bool epoch_taken() const { return epoch_taken_; }
  bool copy_was_there() const { return copy_was_there_; }
  const Ownership* replaced() const { return replaced_; }  // by the promotion: the owner of the highest epoch

  // Whether the node crashed, left or was suspected at some time.
  bool was_away(std::uint32_t node) const { return away_[node]; }
  bool any_set_back() const { return set_back_; }
  // Whether no node waits for this worker: the scheduler counts it as down, or all owners were told so.
  bool is_given_up(std::uint32_t worker_node) const;
  bool watched() const { return watched_; }  // nodes may fail, also before the first heartbeat

 private:
  void on_promote(const Row& row);
  void begin_as_part(std::uint32_t shard);
  void forget_hashes(std::uint32_t shard, std::int64_t epoch);
  void on_member(const Row& row);
  void forget_earlier_life(Ownership& owner, std::uint32_t worker_node);
  void on_fault(const Row& row);
  void crashes(std::uint32_t node);
  void holds(Ownership& ownership, std::uint32_t node) const;
  bool has_place(const Ownership& ownership, std::uint32_t node) const;
  void on_view(const Row& row);
  void let_go();
  void leaves(std::uint32_t node);
  void inherit(Ownership& ownership, const Ownership& from, std::int64_t version) const;

  Facts facts_;
  std::map<std::uint32_t, ShardHistory> shards_;
  struct Cut {
    std::uint32_t shard = 0;  // the shard that was cut
    std::int64_t epoch = 0;   // begins for both parts with the cut
  };
  std::map<std::uint32_t, Cut> cuts_;  // by new shard
  // By node: the event when the scheduler last heard that it joined.
  std::map<std::uint32_t, std::int64_t> joined_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>
      applied_,  // by shard and worker: the last applied push
      lives_;    // by shard and worker's number: the join since when it numbers its pushes anew
  std::vector<bool> away_, leaving_;  // by node; leaving_: and not back since
  // The newest view, if nodes may fail: the possible owners of each shard, and the participants.
  struct View {
    std::int64_t number = 0;
    std::set<std::pair<std::uint32_t, std::uint32_t>> places = {}, former = {};  // shard and node
    std::map<std::uint32_t, std::int64_t> epochs = {};                           // by shard
    std::set<std::uint32_t> participants = {};
  };
  std::optional<View> view_;
  bool is_told_view_ = false;  // more of its rows follow
  bool repeated_ = false, epoch_taken_ = false, copy_was_there_ = false, set_back_ = false;
  bool watched_ = false;
  std::int64_t last_version_ = 0;
  const Ownership* replaced_ = nullptr;
};

}  // namespace psim::analysis
