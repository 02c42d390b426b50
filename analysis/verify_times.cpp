// Where the workers' time went, what they computed, and when the run ended, added up from the events alone.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

// Sums of many short times are rounded, in another order than the run's own.
bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}); }

// What a worker does, as far as its events tell, and for how long it has done so.
class Day {
 public:
  enum Use : std::uint8_t { compute, network, wait, absent };
  using Uses = std::array<double, 4>;

  // `last`: its time ends then at the latest, whatever comes after.
  Day(bool is_here, double last) : here_(is_here), last_(last) {}
  void on_message(double at, int change) {
    pass(at);
    on_the_way_ += change;
  }
  void on_join(double at) {
    if ((here_ && !through_) || at > last_) return;
    pass(at);
    here_ = true;
    through_ = false;
    counted_ = all_;  // it was not over after all
  }
  void goes(double at) {
    pass(at);
    here_ = computes_ = false;
  }
  void computes(double at, bool now) {
    pass(at);
    computes_ = now;
  }
  void is_through(double at) {
    pass(at);
    computes_ = false;
    through_ = true;
    counted_ = all_;
  }
  // Seconds of each use.
  Uses uses() {
    pass(last_);
    return through_ ? counted_ : all_;
  }

 private:
  void pass(double now) {
    const Use use = !here_ ? absent : computes_ ? compute : on_the_way_ > 0 && !through_ ? network : wait;
    const double until = std::min(now, last_);
    all_[use] += until - since_;
    since_ = until;
  }
  bool here_, computes_ = false, through_ = false;
  int on_the_way_ = 0;
  double since_ = 0, last_;
  Uses all_ = {}, counted_ = {};
};

class Times final : public Check {
 public:
  Times(const Facts& facts, const Json& summary)
      : Check("time", "the shares of each worker's time match its events and sum to 1") {
    // Of a group whose training ended before that of others, the workers' time ended with it.
    const bool has_groups = summary.contains("groups");
    for (std::uint32_t w = 0; w < facts.workers; ++w) {
      const Json& end =
          has_groups ? summary.at("workers").at(w).at("time").at("total_s") : summary.at("sim_time_s");
      days_.emplace_back(facts.here_at_first[w], end.get<double>());
    }
  }

  void on(const Row& row, const History& history) override {
    const Facts& facts = history.facts();
    const auto day = [&](std::uint32_t node) -> Day& { return days_[facts.worker(node)]; };
    if (row.is_message()) {
      for (const std::uint32_t node : {row.node, row.peer}) {
        if (facts.is_worker(node)) day(node).on_message(row.at, row.what == What::sent ? 1 : -1);
      }
      if (row.what == What::sent && row.letter == Letter::join && facts.is_worker(row.node))
        day(row.node).on_join(row.at);
    }
    if (row.is_computation())
      day(row.node).computes(row.at, row.what == What::begun || row.what == What::resumed);
    if (row.what == What::finish)
      row.leaves != 0 ? day(row.node).goes(row.at) : day(row.node).is_through(row.at);
    const bool crashes = row.what == What::fault && row.fault == Fault::crash && row.begins != 0;
    if (crashes && facts.is_worker(row.peer)) day(row.peer).goes(row.at);
  }

  void at_end(const History&, const Json& summary, std::int64_t) override {
    Day::Uses all = {};
    for (std::size_t w = 0; w < days_.size(); ++w) {
      const Json& told = summary.at("workers").at(w).at("time");
      const Day::Uses uses = days_[w].uses();
      compare(fmt::format("worker {}", w), uses, told);
      for (std::size_t use = 0; use < uses.size(); ++use) all[use] += uses[use];
    }
    compare("all workers", all, summary.at("time"));
  }

 private:
  void compare(const std::string& whose, const Day::Uses& uses, const Json& told) {
    double total = 0;
    for (const double seconds : uses) total += seconds;
    examined();
    const bool sums_up = same(total, told.at("total_s").get<double>());
    if (!sums_up)
      violated(fmt::format("{}: {:.9g} s in the events, {:.9g} s in the summary", whose, total,
                           told.at("total_s").get<double>()));
    if (!(total > 0) || !sums_up) return;
    constexpr std::array names{"compute_share", "network_share", "wait_share", "absent_share"};
    for (std::size_t use = 0; use < uses.size(); ++use) {
      const double share = told.at(names[use]);
      if (!same(uses[use] / total, share))
        violated(fmt::format("{}: {} is {:.9g} in the events, {:.9g} in the summary", whose, names[use],
                             uses[use] / total, share));
    }
  }
  std::vector<Day> days_;
};

class Samples final : public Check {
 public:
  explicit Samples(std::uint32_t workers)
      : Check("samples", "each worker computed exactly the samples of its completed steps"),
        computed_(workers) {}

  void on(const Row& row, const History& history) override {
    if (row.what != What::ended) return;
    const Facts& facts = history.facts();
    computed_[facts.worker(row.node)] += static_cast<std::uint64_t>(row.samples);
    if (row.is_step && row.is_last_part() && facts.samples) steps_.push_back(row);
  }

  void at_end(const History& history, const Json& summary, std::int64_t) override {
    for (std::size_t w = 0; w < computed_.size(); ++w) {
      examined();
      const Json& told = summary.at("workers").at(w).at("samples");
      if (told != computed_[w])
        violated(fmt::format("worker {}: {} in the events, {} in the summary", w, computed_[w], told.dump()));
    }
    if (summary.contains("groups")) return;  // each may have its own size of batches
    const Facts& facts = history.facts();
    for (const Row& row : steps_) {
      examined();
      const std::int64_t count = row.samples;
      if (count != *facts.samples && count != *facts.first_samples)
        violated(row, fmt::format("{} computes {} samples, where a step has {}", facts.name_of(row.node),
                                  count, *facts.samples));
    }
  }

 private:
  std::vector<std::uint64_t> computed_;  // by worker
  std::vector<Row> steps_;
};

class EndDate final : public Check {
 public:
  EndDate()
      : Check("end-date",
              "the run ended with its last worker or with what stopped it; nothing is computed later") {}

  void on(const Row& row, const History&) override {
    last_ = row.at;
    if (row.what == What::finish) {
      finish_ = row.at;
      finished_.insert(row.node);
    }
    if (row.what == What::suspicion || row.what == What::view) verdict_ = row.at;
    const bool is_work = row.what == What::finish || row.what == What::applied || row.what == What::update ||
                         (row.is_step && (row.what == What::begun || row.what == What::ended));
    if (is_work) last_work_ = row;
  }

  void at_end(const History& history, const Json& summary, std::int64_t) override {
    examined();
    const double end = summary.at("sim_time_s");
    if (last_work_ && last_work_->at > end && !same(last_work_->at, end))
      violated(*last_work_, fmt::format("the run ended at {:.9g} s, before this", end));
    if (!summary.at("stuck").empty()) {
      if (end < last_ && !same(end, last_))
        violated(fmt::format("the run says that it got stuck at {:.9g} s, before its last event", end));
      return;
    }
    std::vector<double> ends;
    if (finish_) ends.push_back(*finish_);
    // What a worker sent before it left may be applied after that, and one that nobody waits for may compute.
    if (finish_ && !finished_.contains(last_work_->node)) ends.push_back(last_work_->at);
    if (verdict_) ends.push_back(*verdict_);
    if (history.facts().duration) ends.push_back(*history.facts().duration);
    const auto add_target = [&](const Json& target) {
      if (target.at("reached").get<bool>()) ends.push_back(target.at("sim_time_s"));
    };
    add_target(summary.at("target"));
    if (summary.contains("groups")) {
      for (const Json& group : summary.at("groups")) {
        add_target(group.at("target"));
        ends.push_back(group.at("finished_s"));
      }
    }
    if (std::ranges::none_of(ends, [end](double date) { return same(date, end); }))
      violated(fmt::format("nothing ended it at {:.9g} s: {}", end,
                           finish_ ? fmt::format("the last worker was through at {:.9g} s", *finish_)
                                   : std::string("no worker was through")));
  }

 private:
  double last_ = 0;
  std::optional<double> finish_;
  std::set<std::uint32_t> finished_;  // workers
  std::optional<double> verdict_;     // the scheduler's, on who is there
  std::optional<Row> last_work_;
};

}  // namespace

void add_time_checks(const Facts& facts, const Json& summary, Checks& checks) {
  checks.push_back(std::make_unique<EndDate>());
  checks.push_back(std::make_unique<Times>(facts, summary));
  checks.push_back(std::make_unique<Samples>(facts.workers));
}

}  // namespace psim::analysis
