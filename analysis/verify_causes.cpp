// Whether the run's causes make sense.
#include <utility>

#include "analysis/causes/builder.hpp"
#include "analysis/causes/explain.hpp"
#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

class CausesCheck final : public Check {
 public:
  explicit CausesCheck(const Evidence& evidence)
      : Check(evidence, "causes",
              "nothing comes before its cause, and the critical path reaches from the start to the end"),
        builder_(facts_) {}
  void on(const Row& row) override { builder_.on(row); }
  void at_end(std::int64_t) override {
    const CausalGraph graph = std::move(builder_).graph();
    examined(static_cast<std::int64_t>(graph.size()));
    for (const std::string& broken : broken_causes(graph, summary_)) violated("{}", broken);
  }

 private:
  CauseBuilder builder_;
};

}  // namespace

void add_cause_check(const Evidence& evidence, Checks& checks) { add_checks<CausesCheck>(evidence, checks); }

}  // namespace psim::analysis
