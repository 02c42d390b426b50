#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/run_record.hpp"
#include "analysis/verify/checks.hpp"
#include "sim/record/spans.hpp"

namespace psim::analysis {

// Checks the workers' shares of time, their samples, and the end of the run: all added up only from the
// events.

// Checks conservation of messages and pushes, repetitions, and the end of the run.

namespace {

class Conservation final : public Check {
 public:
  explicit Conservation(const Evidence& evidence) : Check(evidence, "conservation") {}

  void on(const Row& row) override {
    if (row.is_message()) return move(row);
    if (row.is<PushOutcome>()) {
      ++(row.is_dropped() ? dropped_ : applied_);
      if (row.is(Outcome::applied) && history_.watched()) look_for_gap(row);
      waiting_[{row.shard, row.peer}].erase(row.push);
    }
    if (row.is<Recount>()) waiting_.erase({row.shard, row.peer});
    if (row.is<Promotion>()) {
      delivered_ += static_cast<std::uint64_t>(row.as<Promotion>().waiting_pushes);
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
    Book& book = row.is<Sent>() ? sent_ : row.is<Received>() ? received_ : lost_;
    ++book.messages;
    book.bytes += row.bytes;
    if (row.is<Sent>()) {
      on_the_way_.insert({row.number, {row.node, row.peer, std::string(row.word())}});
      return;
    }
    if (on_the_way_.erase(row.sent) == 0)
      violated(row, "message {}, which {} {}, was not sent, or has arrived or been lost before", row.sent,
               name(row.node), row.is<Received>() ? "receives" : "loses");
    if (!row.is<Received>(MessageKind::push)) return;
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
  explicit End(const Evidence& evidence) : Check(evidence, "end") {}
  void on(const Row& row) override {
    if (row.is<Finish>()) finished_.insert(row.node);
    if (row.is<Sent>(MessageKind::start)) told_.insert(row.peer);
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
  explicit Repeats(const Evidence& evidence) : Check(evidence, "repeats") {}

  void on(const Row& row) override {
    if (row.is<FaultChange, Lost, ViewChange>()) calm_ = false;
    if (!calm_) return;
    if (row.is<Repetition>())
      violated(row, "{} sends a {} to {} again, but nothing has failed", name(row.node), row.word(),
               name(row.peer));
    const bool is_push = row.is<Sent>(MessageKind::push);
    if (!is_push && !row.is<Sent>(MessageKind::pull, MessageKind::weights)) return;
    examined();
    const std::int64_t number = is_push ? row.push : row.pull;
    if (!sent_.emplace(row.node, row.peer, row.shard, is_push, number).second)
      violated(row, "{} sends {} {} to {} twice, but nothing has failed", name(row.node), row.word(), number,
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

// Checks that tasks were done in an order that the scenario allows.

namespace {

class TasksCheck final : public Check {
 public:
  explicit TasksCheck(const Evidence& evidence) : Check(evidence, "tasks") {
    if (facts_.tasks.empty()) does_not_apply();
  }

  void on(const Row& row) override {
    if (!row.is<TaskChange>()) return;
    examined();
    const TaskChange& change = row.as<TaskChange>();
    const Key key{change.task, change.unit.value_or(-1), row.clock};
    const TaskFact& task = facts_.tasks[static_cast<std::size_t>(change.task)];
    if (row.is(TaskPhase::given)) {
      look_at_inputs(row, std::get<1>(key), task);
      look_at_place(row, std::get<1>(key), task);
      if (!given_.emplace(key, row.peer).second) violated(row, "{} is given out a second time", text(key));
      if (!task.is_of_server) ++busy_[row.peer];
      return;
    }
    const auto given = given_.find(key);
    if (given == given_.end()) return violated(row, "{} is done and was not given out", text(key));
    if (given->second != row.peer) violated(row, "{} was given to {}", text(key), name(given->second));
    if (!done_.insert(key).second) violated(row, "{} is done a second time", text(key));
    if (!task.is_of_server) --busy_[row.peer];
  }

  void at_end(std::int64_t) override {
    for (const auto& [key, worker] : given_) {
      if (!done_.contains(key) && ended_by_itself()) violated("{} was given out and never done", text(key));
    }
  }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // task, unit, clock

  static std::string text(const Key& key) {
    return fmt::format("task {}, unit {}, clock {}", std::get<0>(key), std::get<1>(key), std::get<2>(key));
  }
  // The run ended without a date, a target or getting stuck.
  bool ended_by_itself() const {
    return !facts_.duration && summary_["target"]["reached"] != true && summary_["stuck"].empty();
  }

  void look_at_inputs(const Row& row, std::int64_t its_unit, const TaskFact& task) {
    for (const TaskFact::Input& input : task.after) {
      const std::int64_t clock = row.clock - input.clocks_back;
      if (clock < 0) continue;
      const TaskFact& other = facts_.tasks[input.task];
      const bool is_own = !input.all && its_unit >= 0 && other.units >= 0;
      const std::int64_t first = other.units < 0 ? -1 : is_own ? its_unit : 0;
      const std::int64_t last = other.units < 0 ? -1 : is_own ? its_unit : other.units - 1;
      for (std::int64_t unit = first; unit <= last; ++unit) {
        const Key key{static_cast<std::int64_t>(input.task), unit, clock};
        if (!done_.contains(key)) violated(row, "it is given out before {} is done", text(key));
      }
    }
  }

  void look_at_place(const Row& row, std::int64_t unit, const TaskFact& task) {
    if (task.is_of_server) return;
    if (task.does != "pull") {
      for (const TaskFact::Input& input : task.after) {
        const bool is_source = facts_.tasks[input.task].does == (task.does == "push" ? "gradient" : "pull");
        const auto source = given_.find({static_cast<std::int64_t>(input.task), unit, row.clock});
        if (is_source && source != given_.end() && source->second != row.peer)
          violated(row, "{} has what it needs", name(source->second));
      }
      return;
    }
    if (task.anywhere) {
      if (busy_[row.peer] > 0) violated(row, "{} still has {} tasks to do", name(row.peer), busy_[row.peer]);
      return;
    }
    const std::int64_t expected = task.worker >= 0 ? task.worker : unit;
    if (static_cast<std::int64_t>(worker(row.peer)) != expected)
      violated(row, "it belongs to worker {}", expected);
  }

  std::map<Key, std::uint32_t> given_;
  std::set<Key> done_;
  std::map<std::uint32_t, std::int64_t> busy_;
};

}  // namespace

void add_task_check(const Evidence& evidence, Checks& checks) { add_checks<TasksCheck>(evidence, checks); }

namespace {

// Sums of many short times have rounding errors, because the order differs from that of the run.
bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}); }

// The use of each worker's time (sim/record/spans.hpp), added up again from the events alone.
class Days {
 public:
  // Gets the pieces of time of each worker, without gaps.
  using OnPiece = std::function<void(std::uint32_t worker, double begin, double end, Use)>;

  Days(const Facts& facts, const Json& summary, OnPiece on_piece);
  void on(const Row& row);
  void close();

 private:
  struct TimeSpan {
    double begin, end;
    Use use;
  };
  struct Day {
    bool here = true, computes = false, in_step = false, through = false;
    int on_the_way = 0;  // messages
    double since = 0;
    double last = 0;              // its time ends here at the latest
    std::vector<TimeSpan> later;  // since it finished: counts if it computes again
  };
  // Accounts for the time until `now`, before a change.
  Day& pass(std::uint32_t worker, double now);
  Day& at(const Row& row, std::uint32_t node) { return pass(facts_.worker(node), row.at); }
  void on_message(const Row& row);
  void joins(std::uint32_t worker, double now);

  const Facts& facts_;
  OnPiece on_piece_;
  std::vector<Day> days_;  // by worker
};

Days::Days(const Facts& facts, const Json& summary, OnPiece on_piece)
    : facts_(facts), on_piece_(std::move(on_piece)), days_(facts.workers) {
  // If the training of a group ends before other groups, the time of its workers ends then.
  const bool has_groups = summary.contains("groups");
  for (std::uint32_t w = 0; w < facts.workers; ++w) {
    const Json& end =
        has_groups ? summary.at("workers").at(w).at("time").at("total_s") : summary.at("sim_time_s");
    days_[w].here = facts.here_at_first[w];
    days_[w].last = end.get<double>();
  }
}

void Days::on(const Row& row) {
  if (row.is_message()) return on_message(row);
  if (row.is<Computation>()) {
    Day& day = at(row, row.node);
    const bool goes_on = row.is(ComputePhase::begun, ComputePhase::resumed);
    if (row.is_step()) day.in_step = goes_on;
    day.computes = goes_on || day.in_step;  // a filter may end within a step
  }
  if (row.is<Finish>()) {
    Day& day = at(row, row.node);
    day.computes = day.in_step = false;
    if (row.as<Finish>().leaves) day.here = false;
    else day.through = true;
  }
  if (row.is_crash() && facts_.is_worker(row.peer)) {
    Day& day = at(row, row.peer);
    day.here = day.computes = day.in_step = false;
  }
}

void Days::on_message(const Row& row) {
  for (const std::uint32_t node : {row.node, row.peer}) {
    if (facts_.is_worker(node)) at(row, node).on_the_way += row.is<Sent>() ? 1 : -1;
  }
  if (row.is<Sent>(MessageKind::join) && facts_.is_worker(row.node)) joins(facts_.worker(row.node), row.at);
}

void Days::joins(std::uint32_t worker, double now) {
  if (Day& day = days_[worker]; (day.here && !day.through) || now > day.last) return;
  Day& day = pass(worker, now);
  day.here = true;
  if (!std::exchange(day.through, false)) return;
  for (const TimeSpan& one : std::exchange(day.later, {})) on_piece_(worker, one.begin, one.end, one.use);
}

Days::Day& Days::pass(std::uint32_t worker, double now) {
  Day& day = days_[worker];
  const Use use = !day.here                            ? Use::down
                  : day.computes                       ? Use::compute
                  : day.on_the_way > 0 && !day.through ? Use::network
                                                       : Use::wait;
  const double begin = std::exchange(day.since, std::min(now, day.last));
  if (!(begin < day.since)) return day;
  if (!day.through) on_piece_(worker, begin, day.since, use);
  else if (!day.later.empty() && day.later.back().use == use) day.later.back().end = day.since;
  else day.later.push_back({begin, day.since, use});
  return day;
}

void Days::close() {
  for (std::uint32_t worker = 0; worker < days_.size(); ++worker) pass(worker, days_[worker].last);
}

class WorkerTimes final : public Check {
 public:
  explicit WorkerTimes(const Evidence& evidence)
      : Check(evidence, "time"),
        record_(evidence.record),
        uses_(facts_.workers),
        days_(facts_, summary_, [this](std::uint32_t worker, double begin, double end, Use use) {
          uses_[worker][static_cast<std::size_t>(use)] += end - begin;
        }) {}

  void on(const Row& row) override { days_.on(row); }

  void at_end(std::int64_t) override {
    days_.close();
    Uses all = {};
    for (std::size_t w = 0; w < uses_.size(); ++w) {
      compare(fmt::format("worker {}", w), uses_[w], summary_.at("workers").at(w).at("time"));
      for (std::size_t use = 0; use < all.size(); ++use) all[use] += uses_[w][use];
    }
    compare("all workers", all, summary_.at("time"));
    compare_spans();
  }

 private:
  using Uses = std::array<double, 5>;  // seconds, by Use
  void compare(const std::string& whose, const Uses& uses, const Json& told) {
    double total = 0;
    for (const double seconds : uses) total += seconds;
    examined();
    const bool sums_up = same(total, told.at("total_s").get<double>());
    if (!sums_up)
      violated("{}: {:.9g} s in the events, {:.9g} s in the summary", whose, total,
               told.at("total_s").get<double>());
    if (!(total > 0) || !sums_up) return;
    constexpr std::pair<Use, const char*> names[] = {{Use::compute, "compute_share"},
                                                     {Use::network, "network_share"},
                                                     {Use::wait, "wait_share"},
                                                     {Use::down, "absent_share"}};
    for (const auto& [use, name] : names) {
      const double share = told.at(name), seen = uses[static_cast<std::size_t>(use)] / total;
      if (!same(seen, share))
        violated("{}: {} is {:.9g} in the events, {:.9g} in the summary", whose, name, seen, share);
    }
  }

  void compare_spans() {
    std::vector<Uses> recorded(uses_.size());
    query(record_->database(), "SELECT node, use, sum(end_s - begin_s) FROM span GROUP BY node, use",
          [&](sqlite3_stmt* row) {
            const auto use = std::ranges::find(use_names, text_in(row, 1));
            if (!facts_.is_worker(id_in(row, 0)) || use == use_names.end()) return;
            recorded[facts_.worker(id_in(row, 0))][static_cast<std::size_t>(use - use_names.begin())] =
                sqlite3_column_double(row, 2);
          });
    for (std::size_t w = 0; w < uses_.size(); ++w) {
      for (std::size_t use = 0; use < use_names.size(); ++use) {
        examined();
        if (!same(uses_[w][use], recorded[w][use]))
          violated("worker {}: {:.9g} s of {} in the events, {:.9g} s in its spans", w, uses_[w][use],
                   use_names[use], recorded[w][use]);
      }
    }
  }

  const RunRecord* record_;
  std::vector<Uses> uses_;  // by worker
  Days days_;
};

class Samples final : public Check {
 public:
  explicit Samples(const Evidence& evidence) : Check(evidence, "samples"), computed_(facts_.workers) {}

  void on(const Row& row) override {
    if (!row.is(ComputePhase::ended)) return;
    computed_[worker(row.node)] += static_cast<std::uint64_t>(row.samples);
    if (row.is_step() && row.as<Computation>().is_last() && facts_.samples)
      steps_.emplace_back(row, row.samples);
  }

  void at_end(std::int64_t) override {
    for (std::size_t w = 0; w < computed_.size(); ++w) {
      examined();
      const Json& told = summary_.at("workers").at(w).at("samples");
      if (told != computed_[w])
        violated("worker {}: {} in the events, {} in the summary", w, computed_[w], told.dump());
    }
    if (summary_.contains("groups")) return;  // each group may have its own batch size
    for (const auto& [row, count] : steps_) {
      examined();
      if (count != *facts_.samples && count != *facts_.first_samples)
        violated(row, "{} computes {} samples, where a step has {}", name(row.node), count, *facts_.samples);
    }
  }

 private:
  std::vector<std::uint64_t> computed_;                 // by worker
  std::vector<std::pair<Moment, std::int64_t>> steps_;  // with their samples
};

class EndDate final : public Check {
 public:
  explicit EndDate(const Evidence& evidence) : Check(evidence, "end-date") {}

  void on(const Row& row) override {
    last_ = row.at;
    if (row.is<Finish>()) {
      finish_ = row.at;
      finished_.insert(row.node);
    }
    if (row.is<Sent>(MessageKind::join)) finished_.erase(row.node);
    if (row.starts_peer()) finished_.erase(row.peer);  // it joins after its start
    // A run ends when all its workers have finished; later verdicts of the scheduler do not matter.
    const bool is_verdict = row.is<Suspicion, ViewChange>();
    if (is_verdict && finished_.size() < facts_.workers) verdict_ = row.at;
    const bool is_work = row.is<Finish>() || row.is(Outcome::applied) || row.is<ModelUpdate>() ||
                         row.is_step(ComputePhase::begun, ComputePhase::ended);
    if (is_work) last_work_ = row;
  }

  void at_end(std::int64_t) override {
    examined();
    const double end = summary_.at("sim_time_s");
    if (last_work_ && last_work_->at > end && !same(last_work_->at, end))
      violated(*last_work_, "the run ended at {:.9g} s, before this", end);
    if (!summary_.at("stuck").empty()) {
      if (end < last_ && !same(end, last_))
        violated("the run says that it got stuck at {:.9g} s, before its last event", end);
      return;
    }
    std::vector<double> ends;
    if (finish_) ends.push_back(*finish_);
    // Servers may apply a push of a worker after it left, and a worker that no node waits for may compute.
    if (finish_ && !finished_.contains(last_work_->node)) ends.push_back(last_work_->at);
    if (verdict_) ends.push_back(*verdict_);
    if (facts_.duration) ends.push_back(*facts_.duration);
    // A target with `hold` ends the run at the last of the required evaluations.
    const auto add_target = [&](const Json& of) {
      const Json& target = of.at("target");
      if (!target.at("reached").get<bool>()) return;
      const double first = target.at("sim_time_s");
      const auto more = target.value("hold", std::int64_t{1}) - 1;
      const Json& curve = of.at("curve");
      const auto look = std::ranges::find_if(
          curve, [first](const Json& point) { return point.at("sim_time_s").get<double>() >= first; });
      ends.push_back(curve.end() - look > more ? (look + more)->at("sim_time_s").get<double>() : first);
    };
    add_target(summary_);
    if (summary_.contains("groups")) {
      for (const Json& group : summary_.at("groups")) {
        add_target(group);
        ends.push_back(group.at("finished_s"));
      }
    }
    if (std::ranges::none_of(ends, [end](double date) { return same(date, end); }))
      violated("nothing ended it at {:.9g} s: {}", end,
               finish_ ? fmt::format("the last worker finished at {:.9g} s", *finish_)
                       : std::string("no worker finished"));
  }

 private:
  double last_ = 0;
  std::optional<double> finish_;
  std::set<std::uint32_t> finished_;  // workers that have finished and not returned
  // Last verdict of the scheduler about nodes while some worker had not finished.
  std::optional<double> verdict_;
  std::optional<Moment> last_work_;
};

class Waits final : public Check {
 public:
  explicit Waits(const Evidence& evidence) : Check(evidence, "waits") {}

  void on(const Row& row) override {
    if (row.is<Received>()) return arrives(row);
    const bool is_release = row.is<Release>() && row.sent >= 0;  // otherwise a view or a date ended it
    if (!row.is<Wait>() && !is_release) return;
    examined();
    const std::string who = name(row.node);
    if (!is_here(row.sent, row.node))
      violated(row, "message {} is said to end a wait at {}, which has not received it", row.sent, who);
    if (row.is<Wait>() && row.since >= row.at)
      violated(row, "{} is said to have waited since {:.9g} s", who, row.since);
    if (is_release && is_here(row.sent, row.node) && kind_of(row.word()) != arrivals_[index(row.sent)].kind)
      violated(row, "a {} is said to release a pull, and message {} is a {}", row.word(), row.sent,
               arrivals_[index(row.sent)].kind);
  }

 private:
  void arrives(const Row& row) {
    const std::size_t number = index(row.sent);
    if (arrivals_.size() <= number) arrivals_.resize(std::max(number + 1, arrivals_.size() * 2));
    arrivals_[number] = {row.node, row.word()};
  }
  bool is_here(std::int64_t message, std::uint32_t node) const {
    return message < std::ssize(arrivals_) && arrivals_[index(message)].receiver == node;
  }
  static std::size_t index(std::int64_t message) { return static_cast<std::size_t>(message); }
  // The kind of message that a reason names.
  static std::string_view kind_of(std::string_view reason) {
    return reason == "decision" ? "group" : reason == "confirmation" ? "replicated" : reason;
  }

  struct Arrival {
    std::uint32_t receiver = ~0U;  // no node
    std::string_view kind = {};
  };
  std::vector<Arrival> arrivals_;  // by message's number
};

}  // namespace

void add_time_checks(const Evidence& evidence, Checks& checks) {
  add_checks<EndDate, WorkerTimes, Samples, Waits>(evidence, checks);
}

}  // namespace psim::analysis
