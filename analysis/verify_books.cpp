// What is conserved, and how the run ended.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analysis/verify_checks.hpp"
#include "model/mutant.hpp"

namespace psim::analysis {
namespace {

class Conservation final : public Check {
 public:
  Conservation()
      : Check("conservation", "each message is received once or lost, each push is applied or dropped") {}

  void on(const Row& row, const History& history) override {
    if (row.is_message()) return move(row, history);
    const std::uint32_t worker =
        row.is_outcome() || row.what == What::membership ? history.facts().worker(row.peer) : 0;
    if (row.is_outcome()) {
      ++(row.is_dropped() ? dropped_ : applied_);
      if (row.what == What::applied && history.watched()) look_for_gap(row, history);
      waiting_[{row.shard, worker}].erase(row.push);
    }
    if (row.what == What::membership) waiting_.erase({row.shard, worker});
    if (row.what == What::promotion) {
      delivered_ += static_cast<std::uint64_t>(row.waiting_pushes);
      waiting_.erase(waiting_.lower_bound({row.shard, 0}), waiting_.lower_bound({row.shard + 1, 0}));
    }
  }

  void at_end(const History& history, const Json& summary, std::int64_t events) override {
    const auto same = [&](const char* what, std::uint64_t counted, const Json& told) {
      examined();
      if (told != counted && !mutant("books-always-balance"))
        violated(fmt::format("{}: {} in the events, {} in the summary", what, counted, told.dump()));
    };
    same("events", static_cast<std::uint64_t>(events), summary["events"]);
    same("messages sent", books_[What::sent].messages, summary["messages"]);
    same("messages received", books_[What::received].messages, summary["messages_received"]);
    same("messages lost", books_[What::lost].messages, summary["messages_lost"]);
    same("bytes sent", books_[What::sent].bytes, summary["bytes_sent"]);
    same("bytes received", books_[What::received].bytes, summary["bytes_received"]);
    same("bytes lost", books_[What::lost].bytes, summary["bytes_lost"]);
    same("pushes applied", applied_, summary["pushes"]["applied"]);
    same("pushes dropped", dropped_, summary["pushes"]["dropped"]);
    for (const auto& [number, message] : on_the_way_)
      violated(fmt::format("message {}, a {} of {} to {}, never arrived and is not lost", number,
                           message.kind, history.facts().name_of(message.from),
                           history.facts().name_of(message.to)));
    const std::uint64_t in = delivered_, done = applied_ + dropped_;
    if (in != done) violated(fmt::format("{} pushes arrived, but {} were applied or dropped", in, done));
    if (history.watched()) look_for_vanished(history);
  }

 private:
  struct Open {
    std::uint32_t from, to;
    std::string kind;
  };
  struct Book {
    std::uint64_t messages = 0, bytes = 0;
  };

  void move(const Row& row, const History& history) {
    examined();
    ++books_[row.what].messages;
    books_[row.what].bytes += row.bytes;
    if (row.what == What::sent) {
      on_the_way_.insert({row.number, {row.node, row.peer, std::string(row.message)}});
      return;
    }
    const bool arrives = row.what == What::received;
    if (on_the_way_.erase(row.sent) == 0)
      violated(row, fmt::format("message {}, which {} {}, was not sent, or has arrived or been lost before",
                                row.sent, history.facts().name_of(row.node), arrives ? "receives" : "loses"));
    if (arrives && row.letter == Letter::push) {
      ++delivered_;
      const auto shard = history.shards().find(row.shard);
      const std::uint32_t worker = history.facts().worker(row.peer);
      if (!history.watched() || shard == history.shards().end()) return;
      const Reign& owner = shard->second.owner();
      const bool is_for_it = owner.node == row.node && owner.epoch == row.epoch;
      if (is_for_it && !owner.over && owner.workers[worker].member)
        waiting_[{row.shard, worker}].insert(row.push);
    }
  }

  // Pushes of a worker are taken in its order: the one before has been applied, dropped or given up.
  void look_for_gap(const Row& row, const History& history) {
    const std::int64_t before = row.push - 1;
    const std::uint32_t worker = history.facts().worker(row.peer);
    const ShardHistory& shard = history.shard(row.shard);
    const Count& count = shard.of_server.at(row.node)->workers[worker];
    const bool will_not_come = has(shard.dropped[worker], before) || has(shard.given_up[worker], before);
    if (before < 0 || count.has(before) || before < count.base || will_not_come) return;
    violated(row,
             fmt::format("{} applies push {} of {} to shard {}, but the one before was neither applied nor "
                         "dropped",
                         history.facts().name_of(row.node), row.push, history.facts().name_of(row.peer),
                         row.shard));
  }

  // Where nodes fail a push may come again, too early or to the wrong server. But the owner's next one of a
  // worker, if it arrived, was applied or dropped.
  void look_for_vanished(const History& history) {
    for (const auto& [key, numbers] : waiting_) {
      const auto shard = history.shards().find(key.first);
      if (shard == history.shards().end()) continue;
      const Reign& owner = shard->second.owner();
      const Count& count = owner.workers[key.second];
      if (owner.over || !count.member) continue;
      examined();
      const std::int64_t next = std::max(count.counted(), count.arrived);
      if (!owner.fresh && numbers.contains(next))
        violated(
            fmt::format("push {} of worker {} to shard {} arrived at server {} and was neither applied nor "
                        "dropped",
                        next, key.second, key.first, owner.node - 1));
    }
  }

  std::map<What, Book> books_;
  std::map<std::int64_t, Open> on_the_way_;                                            // messages, by number
  std::uint64_t delivered_ = 0, applied_ = 0, dropped_ = 0;                            // pushes
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::int64_t>> waiting_;  // by shard and worker
};

class End final : public Check {
 public:
  End() : Check("end", "all workers finished, or a target, a duration or a stated reason ended the run") {}
  void on(const Row& row, const History&) override {
    if (row.what == What::finish) finished_.insert(row.node);
  }
  void at_end(const History& history, const Json& summary, std::int64_t) override {
    examined();
    const Facts& facts = history.facts();
    if (!summary["stuck"].empty()) {
      set_note("the run says that it got stuck: " + summary["stuck"].front().get<std::string>());
      return;
    }
    if (facts.has_duration || summary["target"]["reached"].get<bool>()) return;
    if (finished_.empty()) violated("no worker finished; nothing says why");
    std::string missing;
    for (std::uint32_t node = facts.servers + 1; node <= facts.servers + facts.workers; ++node) {
      if (finished_.contains(node)) continue;
      if (!history.was_away(node))
        violated(fmt::format("{} was there and did not finish; nothing says why", facts.name_of(node)));
      else missing += (missing.empty() ? "" : ", ") + facts.name_of(node);
    }
    if (!missing.empty()) set_note("failed or suspected, and did not finish: " + missing);
  }

 private:
  std::set<std::uint32_t> finished_;
};

}  // namespace

void add_conservation_check(Checks& checks) { checks.push_back(std::make_unique<Conservation>()); }
void add_end_check(Checks& checks) { checks.push_back(std::make_unique<End>()); }

}  // namespace psim::analysis
