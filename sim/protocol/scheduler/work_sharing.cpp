#include "sim/protocol/scheduler/work_sharing.hpp"

#include <numeric>
#include <utility>

namespace psim {

void WorkSharing::on(NodeId from, const Report& report, double now) {
  if (!options_.dynamic || !is_worker(from)) return;
  tell(balancer_.report(from - options_.first_worker, report.clock, report.seconds_per_sample,
                        report.decision, now));
}

// A worker that has done its clocks keeps its share, because no other worker has to compute that share.
void WorkSharing::set_members(const std::vector<bool>& members, double now) {
  if (!options_.dynamic) return;
  const auto first = members.begin() + options_.first_index;
  std::vector<bool> all(first, first + options_.workers);
  if (!options_.balancer.in_step) {
    for (std::uint32_t w = 0; w < options_.workers; ++w)
      all[w] = all[w] || out_.has_completed(options_.first_worker + w);
  }
  tell(balancer_.set_members(all, now));
}

void WorkSharing::is_new(NodeId node) {
  if (options_.dynamic && is_worker(node)) balancer_.is_new(node - options_.first_worker);
}

void WorkSharing::decide_overdue(double now) { tell(balancer_.overdue(now)); }

void WorkSharing::tell(const Balancer::Assignments& assignments) {
  for (const Balancer::Assignment& one : assignments) {
    const Sizes& sizes = *one.sizes;
    Assign assign{
        .clock = one.clock,
        .batch_size = sizes[one.worker],
        .samples_before = std::accumulate(sizes.begin(), sizes.begin() + one.worker, std::int64_t{0})};
    if (!options_.balancer.in_step) assign.decision = one.clock;
    if (options_.tells_sizes) assign.sizes = one.sizes;
    out_.send({.from = scheduler_node, .to = options_.first_worker + one.worker, .body = std::move(assign)});
  }
}

}  // namespace psim
