// What a worker keeps between its steps, when the result of one is not needed.
#include "sim/nodes/worker/gradient_task.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

const std::string momentum =
    "[data]\nsource = \"inline\"\ninputs = [[1.0], [2.0]]\ntargets = [[3.0], [5.0]]\n[model]\nlayers = [1, "
    "1]\n"
    "loss = \"half-sse\"\nprecision = \"float64\"\n[training]\nsteps = 3\nbatch_size = 1\nlocal_steps = 2\n"
    "optimizer = \"momentum\"\n[cluster]\nworkers = 1\nservers = 1\n";

double move_of(JobContext& job, GradientTask& task) {
  const auto weights = std::make_shared<Values>(job.plan.learner->first_weights(Precision::float64, 1));
  task.start(job.assemble({Slice{weights, 0, weights->size()}}),
             {.batches = {{{0}}, {{1}}}, .own = own_steps(job.plan, 0, 2), .moves = true});
  task.wait();
  return std::as_const(*task.gradient()).as<double>()[0];
}

}  // namespace

TEST_CASE("a result that nobody takes leaves a worker's optimizer as it was", "[roles][rhythm]") {
  const Lines lines = on_stage(momentum, [](Stage& stage) {
    stage.act(stage.worker(0), [&stage] {
      GradientTask task(stage.job());
      const double first = move_of(stage.job(), task);
      task.drop();
      stage.say(move_of(stage.job(), task) == first ? "as before" : "another state");
      task.cancel();
      stage.say(move_of(stage.job(), task) == first ? "as before" : "another state");
      task.take();
      stage.say(move_of(stage.job(), task) == first ? "as before" : "with momentum");
    });
    stage.run();
  });
  CHECK(lines == Lines{"0 as before", "0 as before", "0 with momentum"});
}
