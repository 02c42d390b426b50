// Checks conservation of messages and pushes, repetitions, and the end of the run.

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

class Conservation final : public Check {
 public:
  explicit Conservation(const Evidence& evidence)
      : Check(evidence, "conservation",
              "each message is received once or lost, each push is applied or dropped") {}

  void on(const Row& row) override {
    if (row.is_message()) return move(row);
    if (row.is_outcome()) {
      ++(row.is_dropped() ? dropped_ : applied_);
      if (row.is("applied") && history_.watched()) look_for_gap(row);
      waiting_[{row.shard, row.peer}].erase(row.push);
    }
    if (row.is("membership")) waiting_.erase({row.shard, row.peer});
    if (row.is("promotion")) {
      delivered_ += static_cast<std::uint64_t>(row.waiting_pushes);
      waiting_.erase(waiting_.lower_bound({row.shard, 0}), waiting_.lower_bound({row.shard + 1, 0}));
    }
  }

  void at_end(std::int64_t events) override {
    const auto same = [&](const std::string& what, std::uint64_t counted, const Json& told) {
      examined();
      if (told != counted) violated("{}: {} in the events, {} in the summary", what, counted, told.dump());
    };
    same("events", static_cast<std::uint64_t>(events), summary_.at("events"));
    same("messages sent", sent_.messages, summary_.at("messages"));
    same("messages received", received_.messages, summary_.at("messages_received"));
    same("messages lost", lost_.messages, summary_.at("messages_lost"));
    same("bytes sent", sent_.bytes, summary_.at("bytes_sent"));
    same("bytes received", received_.bytes, summary_.at("bytes_received"));
    same("bytes lost", lost_.bytes, summary_.at("bytes_lost"));
    same("pushes applied", applied_, summary_.at("pushes").at("applied"));
    same("pushes dropped", dropped_, summary_.at("pushes").at("dropped"));
    for (const auto& [number, message] : on_the_way_)
      violated("message {}, a {} of {} to {}, never arrived and is not lost", number, message.kind,
               name(message.from), name(message.to));
    if (delivered_ != applied_ + dropped_)
      violated("{} pushes arrived, but {} were applied or dropped", delivered_, applied_ + dropped_);
    if (history_.watched()) look_for_vanished();
  }

 private:
  struct Open {
    std::uint32_t from, to;
    std::string kind;
  };
  struct Book {
    std::uint64_t messages = 0, bytes = 0;
  };

  void move(const Row& row) {
    examined();
    Book& book = row.is("sent") ? sent_ : row.is("received") ? received_ : lost_;
    ++book.messages;
    book.bytes += row.bytes;
    if (row.is("sent")) {
      on_the_way_.insert({row.number, {row.node, row.peer, std::string(row.kind)}});
      return;
    }
    if (on_the_way_.erase(row.sent) == 0)
      violated(row, "message {}, which {} {}, was not sent, or has arrived or been lost before", row.sent,
               name(row.node), row.is("received") ? "receives" : "loses");
    if (!row.is("received", "push")) return;
    ++delivered_;
    const Ownership* owner = history_.owner(row.shard);
    if (!history_.watched() || owner == nullptr) return;
    const bool is_for_it = owner->node == row.node && owner->epoch == row.epoch;
    if (is_for_it && !owner->over && owner->workers[worker(row.peer)].member)
      waiting_[{row.shard, row.peer}].insert(row.push);
  }

  // A server takes the pushes of a worker in order: the push before must be applied, dropped or given up.
  void look_for_gap(const Row& row) {
    const std::int64_t before = row.push - 1;
    const Count& count = history_.find(row.shard, row.node)->workers[worker(row.peer)];
    if (before < 0 || count.has(before) || before < count.base ||
        history_.will_not_come(row.shard, worker(row.peer), before))
      return;
    violated(row, "{} applies {}, but the one before was neither applied nor dropped", name(row.node),
             push_of(row));
  }

  // If nodes fail, a push may arrive again, too early, or at the wrong server. But if the next push that the
  // owner expects from a worker arrived, it must be applied or dropped.
  void look_for_vanished() {
    for (const auto& [key, numbers] : waiting_) {
      const auto [shard, node] = key;
      const Ownership* owner = history_.owner(shard);
      if (owner == nullptr || owner->over || !owner->workers[worker(node)].member) continue;
      examined();
      const Count& count = owner->workers[worker(node)];
      const std::int64_t next = count.here();
      if (!owner->fresh && numbers.contains(next))
        violated("push {} of {} to shard {} arrived at {} and was neither applied nor dropped", next,
                 name(node), shard, name(owner->node));
    }
  }

  Book sent_, received_, lost_;
  std::map<std::int64_t, Open> on_the_way_;                  // messages, by number
  std::uint64_t delivered_ = 0, applied_ = 0, dropped_ = 0;  // pushes
  // Pushes that arrived, by shard and node of the worker.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::int64_t>> waiting_;
};

class End final : public Check {
 public:
  explicit End(const Evidence& evidence)
      : Check(evidence, "end",
              "all workers finished, or a target, a duration or a stated reason ended the run") {}
  void on(const Row& row) override {
    if (row.is("finish")) finished_.insert(row.node);
    if (row.is("sent", "start")) told_.insert(row.peer);
  }
  void at_end(std::int64_t) override {
    examined();
    if (const Json& stuck = summary_.at("stuck"); !stuck.empty())
      return set_note("the run says that it got stuck: {}", stuck.front().get<std::string>());
    if (facts_.duration || summary_.at("target").at("reached").get<bool>()) return;
    if (finished_.empty()) violated("no worker finished, for no stated reason");
    std::string missing;
    for (std::uint32_t node = facts_.servers + 1; node <= facts_.servers + facts_.workers; ++node) {
      if (finished_.contains(node)) continue;
      // A worker that was not told to start takes no part. No node waits for a worker that asks to join after
      // the scheduler knows that the last worker has finished.
      const bool never_came = !told_.contains(node);
      if (!history_.was_away(node) && !never_came)
        violated("{} took part but did not finish, and no event says why", name(node));
      else missing += (missing.empty() ? "" : ", ") + name(node);
    }
    if (!missing.empty())
      set_note("did not finish, because they failed, were suspected or never came: {}", missing);
  }

 private:
  std::set<std::uint32_t> finished_, told_;  // told: to start
};

class Repeats final : public Check {
 public:
  explicit Repeats(const Evidence& evidence)
      : Check(evidence, "repeats", "while nothing fails, no request and no answer is sent twice") {}

  void on(const Row& row) override {
    if (row.is("fault") || row.is("lost") || row.is("view_change")) calm_ = false;
    if (!calm_) return;
    if (row.is("repetition"))
      violated(row, "{} sends a {} to {} again, but nothing has failed", name(row.node), row.kind,
               name(row.peer));
    const bool is_push = row.is("sent", "push");
    if (!is_push && !row.is("sent", "pull") && !row.is("sent", "weights")) return;
    examined();
    const std::int64_t number = is_push ? row.push : row.pull;
    if (!sent_.emplace(row.node, row.peer, row.shard, is_push, number).second)
      violated(row, "{} sends {} {} to {} twice, but nothing has failed", name(row.node), row.kind, number,
               name(row.peer));
  }

 private:
  bool calm_ = true;
  // By sender, receiver and shard: the numbers of pushes; of pulls, and of the pulls that are answered.
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool, std::int64_t>> sent_;
};

}  // namespace

void add_conservation_check(const Evidence& evidence, Checks& checks) {
  add_checks<Conservation>(evidence, checks);
}
void add_repeat_check(const Evidence& evidence, Checks& checks) { add_checks<Repeats>(evidence, checks); }
void add_end_check(const Evidence& evidence, Checks& checks) { add_checks<End>(evidence, checks); }

}  // namespace psim::analysis
