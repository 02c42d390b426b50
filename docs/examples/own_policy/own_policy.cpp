// A psim with its own consistency model and its own weight for stale pushes. The command line,
// `psim explain`, the JSON Schema, the fuzzer and the simulation know both.
//   ./mypsim compare own_policy.toml
//   ./mypsim explain majority
#include <psim/command_line.hpp>
#include <psim/policies.hpp>

#include <cmath>

namespace {

using namespace psim;

const Setting patience{.key = "patience",
                       .doc = "How long an update waits for a majority, in mean times between updates.",
                       .value = 2.0,
                       .min = 1,
                       .max = 1e6,
                       .draws = {"1.5", "4.0"}};

// An update needs the pushes of more than half of the workers. If this takes too long, the update takes the
// pushes that have arrived. A stale push has a smaller weight.
class Majority final : public ConsistencyPolicy {
 public:
  explicit Majority(double factor) : patience_(factor) {}

  PolicyShape shape() const override {
    return {.gate = Gate::own, .varies = true, .shrinks = true, .memory = 3};
  }
  bool may_start(const StartView& view, Memory) const override { return view.applied() >= view.pushed; }
  Decision on_push(const ShardView& view, Memory memory) const override {
    return view.has(view.clocks.members() / 2 + 1) ? on_timer(view, memory) : Decision::hold();
  }
  std::optional<double> closes_at(const ShardView&, Memory memory) const override {
    constexpr double enough_to_know = 5;
    if (memory[updates] < enough_to_know) return std::nullopt;
    return memory[last] + patience_ * memory[interval];
  }
  Decision on_timer(const ShardView& view, Memory) const override {
    std::vector<Decision::Share> shares;
    for (std::size_t i = 0; i < view.pending.size(); ++i)
      shares.push_back({.push = i, .weight = 1 / (1.0 + view.age_of(view.pending[i]))});
    return Decision::apply(std::move(shares));
  }
  void note_update(const ShardView& view, const std::vector<Push>&, OwnMemory memory) const override {
    if (memory[updates] > 0)
      memory[interval] += (view.now - memory[last] - memory[interval]) / memory[updates];
    memory[updates] += 1;
    memory[last] = view.now;
  }

 private:
  enum Number : std::uint8_t { updates, last, interval };  // in memory; the times in seconds
  double patience_;
};

const Addition<ConsistencyRow> majority{
    {.name = "majority",
     .gate = Gate::own,
     .group = Group::own,
     .may_start = "its own push is applied",
     .applies = "when the pushes of more than half of the workers are in, or after `patience`",
     .late = "applied, with a smaller weight",
     .source = "an example",
     .settings = {&patience},
     .policy = [](const ConsistencySpec& spec, std::int64_t) -> std::shared_ptr<const ConsistencyPolicy> {
       return std::make_shared<const Majority>(spec.settings.of(patience));
     },
     .promises = {"pushes <= workers"}}};

const Setting half{.key = "half_life",
                   .doc = "Staleness, in updates, with which a push counts half.",
                   .value = 4.0,
                   .min = 0.1,
                   .max = 1e6,
                   .draws = {"1.0", "8.0"}};

const Addition<StalenessWeightRow> decay{{.name = "decay",
                                          .doc = "2^(-staleness / `half_life`)",
                                          .settings = {&half},
                                          .divisor = [](const Settings& settings, double staleness) {
                                            return std::exp2(staleness / settings.of(half));
                                          }}};

}  // namespace

int main(int argc, char** argv) { return psim::command_line(argc, argv); }
