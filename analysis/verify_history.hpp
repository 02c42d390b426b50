// Who owned which shard when, and what each owner's state is made of, as the events tell it. A shard's
// owners form a tree: each continues one before it from some version on, and what that one applied later is
// undone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/run_record.hpp"

namespace psim::analysis {

using Numbers = std::vector<bool>;  // of pushes of one worker
bool has(const Numbers& numbers, std::int64_t number);
void add(Numbers& numbers, std::int64_t number);

// What a server's state of a shard has of one worker.
struct Count {
  bool member = true;        // takes part, as the server knows
  bool behind = false;       // is back, and nobody waits for it yet
  std::int64_t ahead = 0;    // clocks that it skipped while it was away, without pushes
  std::int64_t base = 0;     // pushes that count as applied without having been
  std::int64_t arrived = 0;  // pushes that counted as arrived when the server took over
  std::int64_t mark = 0;     // highest number applied, and one
  // The event since which others wait for it, if they do; -1: from the beginning.
  std::int64_t awaited_from = -1;
  Numbers applied;
  bool has(std::int64_t number) const { return analysis::has(applied, number); }
  void add(std::int64_t number);
  std::int64_t counted() const { return std::max(base, mark); }
  std::int64_t clock() const { return counted() + ahead; }
  // So many of the worker's first pushes are here, also those that came with the shard.
  std::int64_t here() const { return std::max(counted(), arrived); }
  // Whether others wait for it, and have done so all the time since that event.
  bool is_awaited_since(std::int64_t event) const { return member && !behind && awaited_from <= event; }
};

struct Application {
  std::uint32_t worker;
  std::int64_t number, version, event;
};

// One server's time as the owner of a shard.
struct Ownership {
  std::uint32_t shard = 0, node = 0;
  std::int64_t epoch = 0;
  const Ownership* before = nullptr;  // the one whose history it continues
  std::int64_t from = 0;              // version that it began with
  std::int64_t version = 0;           // that it has reached
  std::int64_t promoted = -1;         // the event; -1: from the beginning
  bool over = false;                  // the server crashed
  bool fresh = false;                 // just promoted: its counts are being told
  bool of_whole = false;              // its shard has been cut since: no hash of a part is known
  // Of all that was acknowledged, alive and with a place in every view since.
  std::set<std::uint32_t> holders = {};
  // Of versions from + 1 on: of the weights, and of all that the next update depends on.
  struct Hashes {
    std::uint64_t weights = 0, state = 0;
  };
  std::vector<Hashes> hashes = {};
  std::vector<Application> applications = {};
  std::vector<Count> workers = {};
  bool in_lineage(std::uint32_t worker, std::int64_t number) const { return workers[worker].has(number); }
  // At version `at`, in this owner's history; none if they are not known.
  std::optional<Hashes> hashes_at(std::int64_t at) const;
};

struct ShardHistory {
  std::map<std::int64_t, Ownership> ownerships;   // by epoch
  std::map<std::uint32_t, Ownership*> of_server;  // its last one
  std::vector<Numbers> dropped, given_up;         // by worker
  bool set_back = false;  // a new owner lacked updates, or a worker's pushes were given up
  const Ownership& owner() const { return ownerships.rbegin()->second; }
};

class History {
 public:
  History(const Facts& facts, bool watched);

  // What the event changes, before checks look at it.
  void on(const Row& row);

  const Facts& facts() const { return facts_; }
  // The shard's owner `server`, as it sees itself.
  Ownership& ownership(std::uint32_t shard, std::uint32_t server);
  // The shard's newest owner; its owner `server`. Null while nobody has done anything.
  const Ownership* owner(std::uint32_t shard) const;
  const Ownership* find(std::uint32_t shard, std::uint32_t server) const;
  // The shard that this one was cut from; none if the plan made it.
  std::optional<std::uint32_t> cut_from(std::uint32_t shard) const {
    const auto cut = cuts_.find(shard);
    return cut == cuts_.end() ? std::nullopt : std::optional(cut->second.shard);
  }
  // The epoch that such a shard and what is left of the other one begin.
  std::int64_t cut_epoch(std::uint32_t shard) const { return cuts_.at(shard).epoch; }
  // Keeps the shards' versions. A new owner may have an older version than the last one had. A part of a cut
  // shard begins where the whole is. Before its owner had heard of the cut, it updated both parts.
  void follow_versions(const Row& row, std::map<std::uint32_t, std::int64_t>& versions) const;
  const ShardHistory& shard(std::uint32_t shard) const { return shards_.at(shard); }

  // The push was dropped or given up.
  bool will_not_come(std::uint32_t shard, std::uint32_t worker, std::int64_t push) const;

  // Of the last event: the push had been applied before; the version that the update comes after; there was
  // another owner of that epoch; the last promote found somebody alive with a full copy.
  bool repeated() const { return repeated_; }
  std::int64_t last_version() const { return last_version_; }
  bool epoch_taken() const { return epoch_taken_; }
  bool copy_was_there() const { return copy_was_there_; }
  const Ownership* replaced() const { return replaced_; }  // by the promote: the owner of the highest epoch

  // Crashed, left or was suspected at some time.
  bool was_away(std::uint32_t node) const { return away_[node]; }
  bool any_set_back() const { return set_back_; }
  // The scheduler takes it for down, or all owners do, as they were told: nobody waits for this worker.
  bool is_given_up(std::uint32_t worker_node) const;
  bool watched() const { return watched_; }  // nodes may fail, also before the first heartbeat

 private:
  void on_promote(const Row& row);
  void begin_as_part(std::uint32_t shard);
  void forget_hashes(std::uint32_t shard, std::int64_t epoch);
  void on_member(const Row& row);
  bool numbers_anew(const Row& row) const;
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
    std::uint32_t shard = 0;  // what was cut; both parts begin ...
    std::int64_t epoch = 0;   // ... this epoch
  };
  std::map<std::uint32_t, Cut> cuts_;             // by new shard
  std::map<std::uint32_t, std::int64_t> joined_;  // events: when the scheduler last heard so of a node
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>
      applied_;                       // by shard and worker: the last one
  std::vector<bool> away_, leaving_;  // by node; the last: and not back since
  // The newest view, where nodes may fail: who may have a shard, and who takes part.
  struct View {
    std::int64_t number = 0;
    std::set<std::pair<std::uint32_t, std::uint32_t>> places = {}, former = {};  // shard and node
    std::map<std::uint32_t, std::int64_t> epochs = {};                           // by shard
    std::set<std::uint32_t> participants = {};
  };
  std::optional<View> view_;
  bool is_told_view_ = false;  // its rows are still coming
  bool repeated_ = false, epoch_taken_ = false, copy_was_there_ = false, set_back_ = false;
  bool watched_ = false;
  std::int64_t last_version_ = 0;
  const Ownership* replaced_ = nullptr;
};

}  // namespace psim::analysis
