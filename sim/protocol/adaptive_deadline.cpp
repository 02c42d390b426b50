#include "sim/protocol/adaptive_deadline.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

constexpr std::size_t most_updates = 10;
constexpr double first_updates = 3;  // without a deadline

// The mean of both middle values, if their number is even.
double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Its numbers stand behind those of the policy that it changes: how many updates it has seen, the time from
// an update to its deadline, and for each of the last updates the number of its arrivals and the arrivals.
class AdaptiveDeadline final : public ConsistencyPolicy {
 public:
  AdaptiveDeadline(std::shared_ptr<const ConsistencyPolicy> policy, double deviations, std::int64_t workers)
      : policy_(std::move(policy)),
        deviations_(deviations),
        row_(1 + static_cast<std::size_t>(workers)),
        begin_(policy_->shape().memory) {}

  PolicyShape shape() const override {
    PolicyShape shape = policy_->shape();
    shape.memory += first_row + most_updates * row_;
    return shape;
  }
  bool may_start(const StartView& view, Memory memory) const override {
    return policy_->may_start(view, memory);
  }
  std::string why_not(const StartView& view, Memory memory) const override {
    return policy_->why_not(view, memory);
  }
  std::optional<std::int64_t> needed_clock(const StartView& view, Memory memory) const override {
    return policy_->needed_clock(view, memory);
  }
  std::int64_t last_clock(const WorkerClocks& clocks) const override { return policy_->last_clock(clocks); }
  Decision on_push(const ShardView& view, Memory memory) const override {
    return policy_->on_push(view, memory);
  }
  std::string why_no_update(const ShardView& view, Memory memory) const override {
    return policy_->why_no_update(view, memory);
  }
  Decision on_timer(const ShardView& view, Memory memory) const override {
    return policy_->on_timer(view, memory);
  }

  std::optional<double> closes_at(const ShardView& view, Memory memory) const override {
    if (memory[begin_] < first_updates) return std::nullopt;
    return view.updated_at + memory[begin_ + 1];
  }

  void note_update(const ShardView& view, const std::vector<Push>& pushes, OwnMemory memory) const override {
    const OwnMemory own = memory.subspan(begin_);
    std::vector<double> arrivals;
    for (const Push& push : pushes) arrivals.push_back(std::max(0.0, push.came_at - view.updated_at));
    std::ranges::sort(arrivals);
    arrivals.resize(std::min(arrivals.size(), row_ - 1));
    const auto place = static_cast<std::size_t>(own[0]) % most_updates;
    const OwnMemory row = own.subspan(first_row + place * row_, row_);
    row[0] = static_cast<double>(arrivals.size());
    std::ranges::copy(arrivals, row.begin() + 1);
    own[0] += 1;
    own[1] = seconds_to_deadline(own.subspan(first_row));
    PSIM_PROBE(own[0] > most_updates, "an adaptive deadline forgets an update");
  }

 private:
  static constexpr std::size_t first_row = 2;

  double seconds_to_deadline(Memory rows) const {
    std::vector<double> arrivals;
    for (; !rows.empty(); rows = rows.subspan(row_)) {
      const Memory of_update = rows.subspan(1, static_cast<std::size_t>(rows[0]));
      arrivals.insert(arrivals.end(), of_update.begin(), of_update.end());
    }
    const double middle = median(arrivals);
    for (double& arrival : arrivals) arrival = std::abs(arrival - middle);
    return middle + deviations_ * median(std::move(arrivals));
  }

  std::shared_ptr<const ConsistencyPolicy> policy_;
  double deviations_;
  std::size_t row_;
  std::size_t begin_;
};

}  // namespace

std::shared_ptr<const ConsistencyPolicy> with_adaptive_deadline(
    std::shared_ptr<const ConsistencyPolicy> policy, double deviations, std::int64_t workers) {
  return std::make_shared<const AdaptiveDeadline>(std::move(policy), deviations, workers);
}

}  // namespace psim
