// A consistency model with logic of its own: asynchronous, but a worker that is ahead of the others does not
// push their weights away. Its memory is a number for each worker.
#include <algorithm>
#include <cmath>

#include "sim/protocol/consistency.hpp"

namespace {

using namespace psim;

const Setting lead{.key = "lead",
                   .doc = "Pushes that a worker may have in updates beyond the worker with the fewest.",
                   .value = std::int64_t{2},
                   .min = 0,
                   .max = 1e6,
                   .draws = {"0", "3"}};

class FairShare final : public ConsistencyPolicy {
 public:
  FairShare(double most_ahead, std::int64_t workers)
      : lead_(most_ahead), workers_(static_cast<std::size_t>(workers)) {}

  PolicyShape shape() const override { return {.is_in_turn = true, .memory = workers_}; }
  bool may_start(const StartView&, Memory) const override { return true; }
  Decision on_push(const ShardView& view, Memory counted) const override {
    if (!view.came) return view.pending.empty() ? Decision::hold() : Decision::apply_all();
    double fewest = HUGE_VAL;
    for (std::size_t w = 0; w < workers_; ++w) {
      if (view.clocks[w].counts()) fewest = std::min(fewest, counted[w]);
    }
    const double own = counted[view.worker_of(view.pending[*view.came])];
    return own > lead_ + fewest ? Decision::drop() : Decision::apply_all();
  }
  void note_update(const ShardView& view, const std::vector<Push>& pushes, OwnMemory counted) const override {
    for (const Push& push : pushes) counted[view.worker_of(push)] += 1;
  }

 private:
  double lead_;
  std::size_t workers_;
};

const Addition<ConsistencyRow> fair_share{
    {.name = "fair-share",
     .aliases = "equal-parts",
     .gate = Gate::none,
     .group = Group::own,
     .may_start = "at once",
     .applies = "each push on arrival, unless its worker is ahead",
     .late = "applied",
     .source = "an example",
     .settings = {&lead},
     .policy = [](const ConsistencySpec& spec,
                  std::int64_t workers) -> std::shared_ptr<const ConsistencyPolicy> {
       return std::make_shared<const FairShare>(spec.settings.of(lead), workers);
     },
     .promises = {"pushes == 1"}}};

}  // namespace
