#include "sim/record/invariants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

// Sums of many short times have rounding errors, and the clock may stop a rounding error late.
double tolerance(double seconds) { return 1e-9 * std::max(1.0, seconds); }

void check_time(std::size_t worker, const WorkerStats& stats, double end, std::vector<std::string>& broken) {
  const WorkerTime& time = stats.time;
  const double least = std::min({time.compute, time.wait, time.network, time.absent});
  if (!(std::abs(time.total() - stats.through) <= tolerance(end)) || !(least >= -tolerance(end)))
    broken.push_back(
        fmt::format("worker {} computes {:.9g} s, waits {:.9g} s, is on the network {:.9g} s and absent "
                    "{:.9g} s, of {:.9g} s",
                    worker, time.compute, time.wait, time.network, time.absent, stats.through));
  if (stats.through > end + tolerance(end))
    broken.push_back(fmt::format("worker {} finishes at {:.9g} s, after the run's end at {:.9g} s", worker,
                                 stats.through, end));
}

}  // namespace

std::vector<std::string> broken_invariants(const RunResult& r) {
  const RunStats& s = r.stats;
  std::vector<std::string> broken;
  for (std::size_t w = 0; w < s.workers.size(); ++w) {
    check_time(w, s.workers[w], r.sim_time, broken);
    if (s.workers[w].samples != r.samples_told[w])
      broken.push_back(fmt::format("worker {} has computed {}, but the record has {}", w,
                                   counted(r.samples_told[w], "sample"), s.workers[w].samples));
  }
  for (std::size_t w = 0; w < s.workers.size(); ++w) {
    if (s.workers[w].samples_used > s.workers[w].samples)
      broken.push_back(fmt::format("worker {} has computed {}, but the model has {} of them", w,
                                   counted(s.workers[w].samples, "sample"), s.workers[w].samples_used));
  }
  if (s.last_work > r.sim_time + tolerance(r.sim_time))
    broken.push_back(fmt::format("the run ends at {:.9g} s, but a node computes or applies at {:.9g} s",
                                 r.sim_time, s.last_work));
  if (r.ended_early)
    broken.push_back(fmt::format(
        "the run ends at {:.9g} s, but a worker that is not gone for good has steps to do", r.sim_time));
  if (r.final_differs)
    broken.emplace_back("the last point of the curve does not evaluate the run's final weights");
  if (r.copies_differ) broken.emplace_back("workers that have done all their steps have different models");
  if (s.least_clock < 0) broken.push_back(fmt::format("a step begins with clock {}", s.least_clock));
  const std::uint64_t bytes =
      std::accumulate(s.bytes_of_kind.begin(), s.bytes_of_kind.end(), std::uint64_t{0});
  if (bytes != s.bytes_sent)
    broken.push_back(
        fmt::format("{} bytes are sent, but the kinds of messages add up to {}", s.bytes_sent, bytes));
  return broken;
}

void check_invariants(const RunResult& result, const std::string& scenario) {
  const std::vector<std::string> broken = broken_invariants(result);
  if (broken.empty()) return;
  throw BrokenInvariant(
      fmt::format("this run breaks an invariant of every run, so psim has a defect: {}\n  = help: please "
                  "report it with this scenario:\n\n{}",
                  fmt::join(broken, "; "), scenario));
}

}  // namespace psim
