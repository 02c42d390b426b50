#include "sim/protocol/pipeline.hpp"

#include <algorithm>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

ModelSpec mlp(std::vector<std::int64_t> layers) {
  ModelSpec spec;
  spec.mlp.layers = std::move(layers);
  return spec;
}

}  // namespace

TEST_CASE("stages are all layers, in order, each with work") {
  const ModelSpec model = mlp({64, 50, 40, 30, 20, 10, 10});
  for (std::size_t count = 1; count <= 6; ++count) {
    const std::vector<Stage> stages = cut_in_stages(model, count);
    REQUIRE(stages.size() == count);
    std::size_t begin = 0;
    double work = 0;
    for (const Stage& stage : stages) {
      CHECK(stage.parameters.begin == begin);
      CHECK(stage.parameters.count > 0);
      CHECK(stage.forward > 0);
      CHECK(stage.backward >= stage.forward);
      begin += stage.parameters.count;
      work += stage.forward + stage.backward;
    }
    CHECK(begin == static_cast<std::size_t>(model.mlp.parameters()));
    CHECK(work == Approx(1).epsilon(1e-12));
    CHECK(stages.back().outputs == 0);
  }
}

TEST_CASE("stages are cut where the work done is nearest to its even share") {
  // Operations of a sample's gradient: 4 x 10,000 in the first layer, 6 x 10,000 in each of the others.
  const std::vector<Stage> two = cut_in_stages(mlp({100, 100, 100, 100, 100}), 2);
  CHECK(two[0].parameters.count == 2 * 10'100);
  CHECK(two[0].outputs == 100);
  CHECK(two[0].forward == Approx(4.0 / 22));
  CHECK(two[0].backward == Approx(6.0 / 22));
  CHECK(two[1].backward == Approx(8.0 / 22));
  // One layer has nearly all the work: the others must still have a layer each.
  const std::vector<Stage> skewed = cut_in_stages(mlp({4, 4, 4, 1000, 10}), 4);
  for (const Stage& stage : skewed) CHECK(stage.parameters.count > 0);
  const std::vector<Stage> first_heavy = cut_in_stages(mlp({1000, 1000, 4, 4, 4}), 2);
  CHECK(first_heavy[0].parameters.count == 1000 * 1001);
}

TEST_CASE("a phantom model is cut evenly, a third of it forward") {
  ModelSpec model;
  model.kind = ModelKind("phantom");
  model.parameters = 10;
  model.activations = 7;
  const std::vector<Stage> stages = cut_in_stages(model, 4);
  for (const Stage& stage : stages) {
    CHECK(stage.forward == Approx(1.0 / 12));
    CHECK(stage.backward == Approx(2.0 / 12));
  }
  CHECK(stages[2].outputs == 7);
  CHECK(stages[3].outputs == 0);
}

TEST_CASE("a stage takes every micro-batch forward, and then backward, once") {
  for (const PipelineSchedule schedule :
       {PipelineSchedule::gpipe, PipelineSchedule::one_forward_one_backward}) {
    for (const std::int64_t stages : {1, 2, 4, 7}) {
      for (const std::int64_t m : {1, 3, 4, 12}) {
        for (std::int64_t stage = 0; stage < stages; ++stage) {
          std::vector<int> state(static_cast<std::size_t>(m));
          std::int64_t held = 0, most = 0;
          for (const StageWork& work : stage_work(schedule, stages, stage, m)) {
            int& done = state[static_cast<std::size_t>(work.micro_batch)];
            CHECK(done == (work.direction == StageWork::forward ? 0 : 1));
            ++done;
            held += work.direction == StageWork::forward ? 1 : -1;
            most = std::max(most, held);
          }
          CHECK(std::ranges::count(state, 2) == m);
          // Narayanan et al. 2021: gpipe holds the activations of all micro-batches, 1f1b of no more than
          // there are stages from here on.
          CHECK(most == (schedule == PipelineSchedule::gpipe ? m : std::min(stages - stage, m)));
        }
      }
    }
  }
}

TEST_CASE("four micro-batches a stage, if there are as many samples") {
  ArchitectureSpec spec{.kind = Architecture::model_parallel, .micro_batches = {}};
  CHECK(micro_batches_of(spec, 3, 100) == 12);
  CHECK(micro_batches_of(spec, 3, 6) == 6);
  spec.micro_batches = 5;
  CHECK(micro_batches_of(spec, 3, 100) == 5);
}
