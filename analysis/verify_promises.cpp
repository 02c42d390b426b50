// Checks the promises of a scenario for its consistency model (model/promise.hpp).
#include <map>
#include <utility>
#include <vector>

#include "analysis/clock_progress.hpp"
#include "analysis/verify_checks.hpp"
#include "model/promise.hpp"

namespace psim::analysis {
namespace {

class Promises final : public Check {
 public:
  explicit Promises(const Evidence& evidence)
      : Check(evidence, "promises", "what the scenario promises of its model of consistency"),
        progress_(facts_, history_) {
    for (const std::string& text : facts_.promises)
      promises_.emplace_back(
          text,
          Promise::Numbers{.workers = facts_.workers, .k = facts_.group, .staleness = facts_.staleness});
    if (promises_.empty()) does_not_apply();
  }

  void on(const Row& row) override {
    const auto start = progress_.on(row);
    if (start)
      look_at(row, Promise::About::clock_gap, start->gap,
              fmt::format("{} starts clock {} with clock_gap", name(row.node), row.clock));
    if (row.is("applied")) {
      look_at(row, Promise::About::age, row.staleness,
              fmt::format("{} applies {} with age", name(row.node), push_of(row)));
      ++pushes_[{row.shard, row.node}];
    }
    if (row.is("model_update") && facts_.is_server(row.node))
      look_at(
          row, Promise::About::pushes, std::exchange(pushes_[{row.shard, row.node}], 0),
          fmt::format("{} makes version {} of shard {} with pushes", name(row.node), row.version, row.shard));
  }

 private:
  void look_at(const Row& row, Promise::About about, std::int64_t value, const std::string& what) {
    for (const Promise& promise : promises_) {
      if (promise.about() != about) continue;
      examined();
      if (!promise.holds(value)) violated(row, "{} = {}; promised is `{}`", what, value, promise.text());
    }
  }

  std::vector<Promise> promises_;
  ClockProgress progress_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> pushes_;  // by shard and server
};

}  // namespace

void add_promise_check(const Evidence& evidence, Checks& checks) { add_checks<Promises>(evidence, checks); }

}  // namespace psim::analysis
