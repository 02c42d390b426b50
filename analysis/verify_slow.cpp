// Checks the workers that the scheduler found slow, from the events of computations.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

// If the mean of a worker is above `factor` times the median of the means of others, then some time of this
// worker is above `factor` times some time of another worker. This holds even if reports were lost or late.
class Slow final : public Check {
 public:
  explicit Slow(const Evidence& evidence)
      : Check(evidence, "slow",
              "a worker found slow has been slower than another by the factor, and is found once between two "
              "starts"),
        steps_(facts_.workers),
        times_(facts_.workers) {
    if (!(facts_.slow_factor > 0)) does_not_apply();
  }

  void on(const Row& row) override {
    if (row.is_computation()) on_computation(row);
    if (row.is_crash() && row.peer == scheduler) known_.clear();  // it forgets the workers that it had found
    const bool comes = row.is("fault") && row.kind == "join";
    if ((row.takes_away() || comes) && facts_.is_worker(row.peer)) ends_life(row);
    if (!row.is("slow_worker")) return;
    examined();
    const std::uint32_t slow = worker(row.peer);
    found_.insert(slow);
    if (!known_.insert(slow).second) violated(row, "{} is found slow again", name(row.peer));
    double least = HUGE_VAL;
    for (std::uint32_t w = 0; w < times_.size(); ++w) {
      if (w != slow && times_[w]) least = std::min(least, times_[w]->least);
    }
    constexpr double rounding = 1e-9;
    if (!times_[slow] || !(times_[slow]->most * (1 + rounding) > facts_.slow_factor * least))
      violated(row, "{} is found slow, and never took {:.3g} times as long for a sample as another",
               name(row.peer), facts_.slow_factor);
  }

  void at_end(std::int64_t) override {
    std::set<std::uint32_t> told;
    for (const Json& one : summary_.at("slow_workers")) told.insert(one.at("worker").get<std::uint32_t>());
    examined();
    if (told != found_)
      violated("the summary has {} slow workers, the events {}, or others", told.size(), found_.size());
  }

 private:
  static constexpr std::uint32_t scheduler = 0;
  // A leaving worker finishes its current step first, and may be found slow until then.
  void ends_life(const Row& row) {
    std::optional<Times>& times = times_[worker(row.peer)];
    known_.erase(worker(row.peer));
    if (row.is_crash() && times) times->most = 0;
  }
  struct Times {
    double least = HUGE_VAL, most = 0;  // seconds a sample
  };
  // A computation, with `seconds` of work before `since`. Pauses do not count: missing weights, a filter for
  // messages in between, samples of another worker's batch.
  struct Step {
    double seconds = 0, since = 0;
    int halts = 0;
  };
  void on_computation(const Row& row) {
    Step& step = steps_[worker(row.node)];
    const bool begun = row.is("begun"), ended = row.is("ended");
    if (row.is_step() && begun) step = {.since = row.at};
    else if ((begun || row.is("paused")) && step.halts++ == 0) step.seconds += row.at - step.since;
    if (row.is_step() && ended) return on_time(row, step.seconds + (row.at - step.since));
    if ((ended || row.is("resumed")) && --step.halts == 0) step.since = row.at;
  }
  void on_time(const Row& row, double seconds) {
    if (row.samples == 0) return;
    std::optional<Times>& times = times_[worker(row.node)];
    if (!times) times.emplace();
    times->least = std::min(times->least, seconds / static_cast<double>(row.samples));
    times->most = std::max(times->most, seconds / static_cast<double>(row.samples));
  }

  std::vector<Step> steps_;  // the last step of each worker
  std::vector<std::optional<Times>> times_;
  std::set<std::uint32_t> found_;
  std::set<std::uint32_t> known_;  // workers that the current scheduler has found slow
};

}  // namespace

void add_slow_check(const Evidence& evidence, Checks& checks) { add_checks<Slow>(evidence, checks); }

}  // namespace psim::analysis
