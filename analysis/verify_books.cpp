// What is conserved, and how the run ended.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/verify_checks.hpp"
#include "model/mutant.hpp"

namespace psim::analysis {
namespace {

class Conservation final : public Check {
 public:
  Conservation()
      : Check("conservation", "each message is received once or lost, each push is applied or dropped") {}

  void on(const Row& row, const History& history) override {
    switch (row.what) {
      case What::send:
      case What::deliver:
      case What::lose: move(row, history); break;
      case What::apply:
      case What::drop:
        ++pushes_[row.what];
        if (row.what == What::apply && history.watched()) look_for_gap(row, history);
        waiting_[{row.shard, history.facts().worker(row.peer)}].erase(static_cast<std::int64_t>(row.bytes));
        break;
      case What::promote:
        delivered_ += row.ids;
        waiting_.erase(waiting_.lower_bound({row.shard, 0}), waiting_.lower_bound({row.shard + 1, 0}));
        break;
      case What::member: waiting_.erase({row.shard, history.facts().worker(row.peer)}); break;
      default: break;
    }
  }

  void at_end(const History& history, const Json& summary, std::int64_t events) override {
    const auto same = [&](const char* what, std::uint64_t counted, const Json& told) {
      examined();
      if (told != counted && !mutant("books-always-balance"))
        violated(fmt::format("{}: {} in the events, {} in the summary", what, counted, told.dump()));
    };
    same("events", static_cast<std::uint64_t>(events), summary["events"]);
    same("messages sent", books_[What::send].messages, summary["messages"]);
    same("messages received", books_[What::deliver].messages, summary["messages_received"]);
    same("messages lost", books_[What::lose].messages, summary["messages_lost"]);
    same("bytes sent", books_[What::send].bytes, summary["bytes_sent"]);
    same("bytes received", books_[What::deliver].bytes, summary["bytes_received"]);
    same("bytes lost", books_[What::lose].bytes, summary["bytes_lost"]);
    same("pushes applied", pushes_[What::apply], summary["pushes"]["applied"]);
    same("pushes dropped", pushes_[What::drop], summary["pushes"]["dropped"]);
    for (const auto& [key, count] : on_the_way_)
      violated(fmt::format("{} message{} of {} to {}, clock {}, never arrived and {} not lost", count,
                           count == 1 ? "" : "s", history.facts().name_of(std::get<0>(key)),
                           history.facts().name_of(std::get<1>(key)), std::get<3>(key),
                           count == 1 ? "is" : "are"));
    const std::uint64_t in = delivered_, done = pushes_[What::apply] + pushes_[What::drop];
    if (in != done) violated(fmt::format("{} pushes arrived, but {} were applied or dropped", in, done));
    if (history.watched()) look_for_vanished(history);
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::string_view, std::int64_t, std::int64_t,
                         std::int64_t, std::uint32_t, std::uint64_t>;
  struct Book {
    std::uint64_t messages = 0, bytes = 0;
  };

  void move(const Row& row, const History& history) {
    examined();
    ++books_[row.what].messages;
    books_[row.what].bytes += row.bytes;
    const bool arrives = row.what == What::deliver;
    const Key key{arrives ? row.peer : row.node,
                  arrives ? row.node : row.peer,
                  row.message,
                  row.clock,
                  row.version,
                  row.value,
                  row.shard,
                  row.bytes};
    if (row.what == What::send) {
      ++on_the_way_[key];
      return;
    }
    const auto sent = on_the_way_.find(key);
    if (sent == on_the_way_.end())
      violated(row, fmt::format("{} {} a {} of {} that was not sent, or more often than it was sent",
                                history.facts().name_of(std::get<1>(key)), arrives ? "receives" : "loses",
                                row.message, history.facts().name_of(std::get<0>(key))));
    else if (--sent->second == 0) on_the_way_.erase(sent);
    if (arrives && row.letter == Letter::push) {
      ++delivered_;
      const auto shard = history.shards().find(row.shard);
      const std::uint32_t worker = history.facts().worker(row.peer);
      if (!history.watched() || shard == history.shards().end()) return;
      const Reign& owner = shard->second.owner();
      const bool is_for_it = owner.node == row.node && owner.epoch == row.epoch;
      if (is_for_it && !owner.over && owner.workers[worker].member)
        waiting_[{row.shard, worker}].insert(row.value);
    }
  }

  // Pushes of a worker are taken in its order: the one before has been applied, dropped or given up.
  void look_for_gap(const Row& row, const History& history) {
    const auto before = static_cast<std::int64_t>(row.bytes) - 1;
    const std::uint32_t worker = history.facts().worker(row.peer);
    const ShardHistory& shard = history.shard(row.shard);
    const Count& count = shard.of_server.at(row.node)->workers[worker];
    const bool will_not_come = has(shard.dropped[worker], before) || has(shard.given_up[worker], before);
    if (before < 0 || count.has(before) || before < count.base || will_not_come) return;
    violated(row,
             fmt::format("{} applies push {} of {} to shard {}, but the one before was neither applied nor "
                         "dropped",
                         history.facts().name_of(row.node), row.bytes, history.facts().name_of(row.peer),
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
  std::map<What, std::uint64_t> pushes_;
  std::map<Key, std::int64_t> on_the_way_;
  std::uint64_t delivered_ = 0;                                                        // pushes
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
