// A psim with a consistency model and a weight for stale pushes of its own. The command line, `psim explain`,
// the JSON Schema, the fuzzer and the simulation know both.
//   ./mypsim compare own_policy.toml
//   ./mypsim explain confirmed
#include <psim/command_line.hpp>
#include <psim/policies.hpp>

#include <cmath>

namespace {

const psim::Addition<psim::ConsistencyRow> confirmed{
    {.name = "confirmed",
     .gate = psim::Gate::own,    // a worker waits until its own last push is applied,
     .group = psim::Group::one,  // and each push makes an update
     .may_start = "its own push is applied",
     .applies = "each push on arrival",
     .late = "applied",
     .source = "k-async of Dutta et al., AISTATS 2018, with k = 1"}};

const psim::Setting half{.key = "half_life",
                         .doc = "Updates after which a push counts for half.",
                         .value = 4.0,
                         .min = 0.1,
                         .max = 1e6,
                         .draws = {"1.0", "8.0"}};

const psim::Addition<psim::StalenessWeightRow> decay{
    {.name = "decay",
     .doc = "2^(-staleness / `half_life`)",
     .settings = {&half},
     .divisor = [](const psim::Settings& settings, double staleness) {
       return std::exp2(staleness / settings.of(half));
     }}};

}  // namespace

int main(int argc, char** argv) { return psim::command_line(argc, argv); }
