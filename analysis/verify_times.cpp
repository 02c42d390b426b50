// Checks the workers' shares of time, their samples, and the end of the run: all added up only from the
// events.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/timeline/day.hpp"
#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

// Sums of many short times have rounding errors, because the order differs from that of the run.
bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}); }

class Times final : public Check {
 public:
  explicit Times(const Evidence& evidence)
      : Check(evidence, "time", "the shares of each worker's time match its events and sum to 1"),
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

  std::vector<Uses> uses_;  // by worker
  Days days_;
};

class Samples final : public Check {
 public:
  explicit Samples(const Evidence& evidence)
      : Check(evidence, "samples", "each worker computed exactly the samples of its completed steps"),
        computed_(facts_.workers) {}

  void on(const Row& row) override {
    if (!row.is("ended")) return;
    computed_[worker(row.node)] += static_cast<std::uint64_t>(row.samples);
    if (row.is_step() && row.is_last_part() && facts_.samples) steps_.push_back(row);
  }

  void at_end(std::int64_t) override {
    for (std::size_t w = 0; w < computed_.size(); ++w) {
      examined();
      const Json& told = summary_.at("workers").at(w).at("samples");
      if (told != computed_[w])
        violated("worker {}: {} in the events, {} in the summary", w, computed_[w], told.dump());
    }
    if (summary_.contains("groups")) return;  // each group may have its own batch size
    for (const Row& row : steps_) {
      examined();
      const std::int64_t count = row.samples;
      if (count != *facts_.samples && count != *facts_.first_samples)
        violated(row, "{} computes {} samples, where a step has {}", name(row.node), count, *facts_.samples);
    }
  }

 private:
  std::vector<std::uint64_t> computed_;  // by worker
  std::vector<Row> steps_;
};

class EndDate final : public Check {
 public:
  explicit EndDate(const Evidence& evidence)
      : Check(evidence, "end-date",
              "the run ended with its last worker or with what stopped it; nothing is computed later") {}

  void on(const Row& row) override {
    last_ = row.at;
    if (row.is("finish")) {
      finish_ = row.at;
      finished_.insert(row.node);
    }
    if (row.is("sent", "join")) finished_.erase(row.node);
    if (starts_anew(row)) finished_.erase(row.peer);  // it joins after its start
    // A run ends when all its workers have finished; later verdicts of the scheduler do not matter.
    const bool is_verdict = row.is("suspicion") || row.is("view_change");
    if (is_verdict && finished_.size() < facts_.workers) verdict_ = row.at;
    const bool is_work = row.is("finish") || row.is("applied") || row.is("model_update") ||
                         (row.is_step() && (row.is("begun") || row.is("ended")));
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
  // Whether the end of a fault, or a fault that adds a node, starts its peer.
  static bool starts_anew(const Row& row) {
    if (row.is("fault", "crash")) return row.begins == 0;
    return row.is("fault", "join") || (row.is("fault") && row.kind == "restart");
  }

  double last_ = 0;
  std::optional<double> finish_;
  std::set<std::uint32_t> finished_;  // workers that have finished and not returned
  // Last verdict of the scheduler about nodes while some worker had not finished.
  std::optional<double> verdict_;
  std::optional<Row> last_work_;
};

class Waits final : public Check {
 public:
  explicit Waits(const Evidence& evidence)
      : Check(evidence, "waits",
              "each wait ends with a message that the worker has received, each released pull with one that "
              "its server has received") {}

  void on(const Row& row) override {
    if (row.is("received")) return arrives(row);
    const bool is_release = row.is("release") && row.sent >= 0;  // otherwise a view or a date ended it
    if (!row.is("wait") && !is_release) return;
    examined();
    const std::string who = name(row.node);
    if (!is_here(row.sent, row.node))
      violated(row, "message {} is said to end a wait at {}, which has not received it", row.sent, who);
    if (row.is("wait") && row.since >= row.at)
      violated(row, "{} is said to have waited since {:.9g} s", who, row.since);
    if (is_release && is_here(row.sent, row.node) && kind_of(row.reason) != arrivals_[index(row.sent)].kind)
      violated(row, "a {} is said to release a pull, and message {} is a {}", row.reason, row.sent,
               arrivals_[index(row.sent)].kind);
  }

 private:
  void arrives(const Row& row) {
    const std::size_t number = index(row.sent);
    if (arrivals_.size() <= number) arrivals_.resize(std::max(number + 1, arrivals_.size() * 2));
    arrivals_[number] = {row.node, row.kind};
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
  add_checks<EndDate, Times, Samples, Waits>(evidence, checks);
}

}  // namespace psim::analysis
