// Goal: expressions have the shape of the model that they stand for, and what no model can be is refused.
#include "sim/protocol/custom_model.hpp"

#include "sim/protocol/consistency.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

ConsistencyRule rule(const CustomTexts& texts, std::int64_t k = 2, std::int64_t workers = 4) {
  return make_rule({.model = "custom", .k = k, .custom = texts}, workers);
}

// "field: message"
std::string mistake(const CustomTexts& texts) {
  try {
    CustomModel(texts, {.workers = 4, .k = 2, .staleness = 3});
  } catch (const CustomMistake& found) {
    return found.field + ": " + found.what.message;
  }
  return "none";
}

}  // namespace

TEST_CASE("custom models have the rules of those that they stand for", "[custom]") {
  struct Case {
    ConsistencySpec spec;
    CustomTexts texts;
  };
  const std::string fresh = "version > computed_on", none = "false";
  const std::vector<Case> cases{
      {{.model = "bsp"}, {.start = fresh, .update = "pushes >= workers", .too_late = "age > 0"}},
      {{.model = "ssp"}, {.start = "clock - min_clock <= staleness"}},
      {{.model = "asp"}, {}},
      {{.model = "k-sync", .k = 2}, {.start = fresh, .update = "pushes >= k", .too_late = "age > 0"}},
      {{.model = "k-batch-sync", .k = 2}, {.update = "pushes >= k", .too_late = "age > 0"}},
      {{.model = "k-async", .k = 2}, {.start = "applied >= pushed", .update = "pushes >= k"}},
      {{.model = "k-batch-async", .k = 2}, {.update = "pushes >= k"}}};
  for (const Case& one : cases) {
    INFO(one.spec.model->name);
    const ConsistencyRule built_in = make_rule(one.spec, 4), custom = rule(one.texts);
    CHECK(custom.gate == built_in.gate);
    CHECK(custom.group == built_in.group);
    CHECK(custom.drops_stale == built_in.drops_stale);
    CHECK(custom.cancel == built_in.cancel);
    CHECK(custom.first_shard_decides == built_in.first_shard_decides);
    CHECK(custom.shards_advance_independently == built_in.shards_advance_independently);
    CHECK(custom.waits_for_all() == built_in.waits_for_all());
  }
}

TEST_CASE("custom models: weights and ages", "[custom]") {
  const CustomModel late({.weight = "1 / (1 + age)", .too_late = "age > 4"}, {.workers = 4});
  CHECK_FALSE(late.shape().drops_stale);
  CHECK(CustomModel({.weight = "0.5", .too_late = "age >= 1"}, {.workers = 4}).shape().drops_stale);
  const WorkerClocks clocks(4);
  const std::vector<Push> pending{{.worker = 2, .version = 6}, {.worker = 3, .version = 4}, {.worker = 4}};
  ShardView view{.clocks = clocks, .pending = pending, .version = 7, .first_worker = 2};
  const auto weights_of = [&](const CustomModel& model) {
    std::vector<double> weights;
    for (const Decision::Share& share : model.on_timer(view, {}).shares) weights.push_back(share.weight);
    return weights;
  };
  // The third has aged beyond the limit since it came.
  CHECK(weights_of(late) == std::vector<double>{0.5, 0.25, 0});
  // Half of a fresh push, where others do not count: the shard was set back.
  CHECK(weights_of(CustomModel({.weight = "0.5", .too_late = "age >= 1"}, {.workers = 4})) ==
        std::vector<double>{0.5, 0.5, 0.5});
  view.came = 2;
  CHECK(late.on_push(view, {}).what == Decision::What::drop);
  view.came = 1;
  CHECK(late.on_push(view, {}).what == Decision::What::apply);
}

TEST_CASE("custom models: how many pushes make an update may change", "[custom]") {
  const CustomModel model({.update = "pushes >= (min_clock < 3 ? 1 : k)"}, {.workers = 4, .k = 2});
  CHECK(model.shape().varies);
  CHECK(model.shape().group == 1);
  CHECK(model.makes_update({.pushes = 1, .members = 4, .version = 0, .min_clock = 2}));
  CHECK_FALSE(model.makes_update({.pushes = 1, .members = 4, .version = 0, .min_clock = 3}));
  CHECK_FALSE(CustomModel({.update = "pushes >= k"}, {.workers = 4, .k = 2}).shape().varies);
}

TEST_CASE("custom models: members are the workers that take part", "[custom]") {
  const CustomModel model({.update = "pushes >= members - 1"}, {.workers = 4, .k = 2});
  CHECK(model.shape().varies);
  CHECK(model.shape().group == 3);
  CHECK(model.makes_update({.pushes = 2, .members = 3}));
  CHECK_FALSE(model.makes_update({.pushes = 2, .members = 4}));
  CHECK_FALSE(CustomModel({.update = "pushes >= workers - 1"}, {.workers = 4, .k = 2})
                  .makes_update({.pushes = 2, .members = 3}));
}

TEST_CASE("custom models: what no model can be", "[custom]") {
  CHECK(mistake({}) == "none");
  CHECK(mistake({.start = "clock < 0"}) ==
        "start: no worker may start its first clock: `clock < 0` is false: clock = 0");
  CHECK(mistake({.start = "min_clok"}) == "start: `min_clok` is not a known name");
  CHECK(mistake({.update = "pushes > workers"}) ==
        "update: this is false for pushes = 1 to 4, so no update is ever made");
  CHECK(mistake({.weight = "3 - age"}) == "weight: a push of age = 3 weighs 0");
  CHECK(mistake({.weight = "3 - age", .too_late = "age > 2"}) == "none");
  CHECK(mistake({.too_late = "age >= 0"}) == "too_late: every push is too late");
  CHECK(mistake({.start = "version > computed_on"}) ==
        "start: waiting for a newer version works only if every stale push is too late");
  CHECK(mistake({.start = "clock <= min_clock", .too_late = "age > 0"}) ==
        "start: this start rule does not work if every stale push is too late");
}
