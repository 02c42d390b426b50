#include "sim/protocol/scheduler/steady_scheduler.hpp"

#include <algorithm>

namespace psim {

SteadyScheduler::SteadyScheduler(std::uint32_t servers, const std::vector<ScheduledJob>& jobs,
                                 SchedulerOutbox& out)
    : out_(out), members_(servers) {
  for (const ScheduledJob& job : jobs) {
    members_ += job.workers;
    jobs_.push_back({job, WorkSharing(job.sharing, out)});
  }
}

void SteadyScheduler::on(const Message& message, double now) {
  if (message.is<Join>()) {
    ++joined_;
    for (NodeId node = 1; has_started() && node <= members_; ++node)
      out_.send({.from = scheduler_node, .to = node, .body = Start{}});
    return;
  }
  const auto job =
      std::ranges::find_if(jobs_, [&message](const Job& one) { return one.plan.has(message.from); });
  if (const Report* report = message.as<Report>()) return job->sharing.on(message.from, *report, now);
  const auto number = static_cast<std::size_t>(job - jobs_.begin());
  if (++job->left == job->plan.workers && !out_.is_over(number)) out_.ends(number);
}

bool SteadyScheduler::is_over() const {
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    if (!out_.is_over(j) && jobs_[j].left < jobs_[j].plan.workers) return false;
  return true;
}

}  // namespace psim
