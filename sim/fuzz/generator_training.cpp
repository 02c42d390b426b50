// Draws the training of a scenario's workers, and their memory.

#include "sim/fuzz/generator.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim::fuzz {

void draw_optimizer(Table& training, bool dense, Dice& dice) {
  const auto& row = draw_row<OptimizerRow>(training, "optimizer", dice);
  if (!row.elastic_net) return;
  training.rows.push_back({"l1", "0.001"});
  if (!dense && dice.chance(0.5)) training.rows.push_back({"feature_blocks", dice.number(2, 4)});
}

void draw_training(Draft& draft, std::int64_t steps, bool learns, bool dense, Dice& dice) {
  Table& training = draft["training"];
  training.rows = {{"steps", std::to_string(steps), true}, {"batch_size", "4", true}};
  auto& rows = training.rows;
  const bool elastic = dense && dice.chance(0.06);
  if (learns && !elastic && dice.chance(0.6)) draw_optimizer(training, dense, dice);
  if (!elastic && dice.chance(0.08)) {
    rows.push_back({"staleness_aware", "true"});
    if (dice.chance(0.3)) rows.push_back({"staleness_scales", "\"gradient\""});
  }
  if (dice.chance(0.12)) rows.push_back({"local_steps", dice.number(2, 4)});
  if (dense && dice.chance(rows.back().key == "local_steps" ? 0.4 : 0.05))
    rows.push_back({"warmup_steps", dice.number(0, 8)});
  if (dice.chance(0.05)) rows.push_back({"accumulate", dice.number(2, 3)});
  if (dense && !elastic && dice.chance(0.08)) rows.push_back({"pull_every", dice.number(2, 4)});
  if (dense && learns && !elastic && dice.chance(0.1)) {
    rows.push_back({"delay_compensation", "0.5"});
    if (dice.chance(0.4)) rows.push_back({"delay_compensation_decay", "0.9"});
  }
  const std::string* const precision = draft.find("model", "precision");
  if (precision != nullptr && *precision != "\"float64\"" && dice.chance(0.5)) {
    draft["training"].rows.push_back({"multi_precision", "true"});
    draft["training"].rows.push_back({"loss_scale", "64"});
  }
  if (elastic) rows.push_back({"algorithm", "\"elastic\""});
  if (dense && !elastic && dice.chance(0.1)) rows.push_back({"update", "\"worker\""});
  if (learns && dice.chance(0.4))
    rows.push_back({"evaluate_every", dice.chance(0.6) ? dice.text_of({"3 updates", "1 update", "10 samples"})
                                                       : dice.time(500, 4000)});
  if (dice.chance(0.1)) rows.push_back({"duration", dice.time(step_us, steps * 2 * step_us)});
  const std::string* const source = draft.find("data", "source");
  const bool has_classes = source == nullptr || *source != "\"teacher\"";
  if (learns && dice.chance(0.1) && has_classes)
    draft["training.target"].rows = {
        {"accuracy", "0.9"}, {"hold", dice.number(1, 3)}, {"stop", dice.chance(0.5) ? "true" : "false"}};
}

void draw_memory(Draft& draft, bool dense, Dice dice) {
  if (dense && dice.chance(0.12)) draft["training"].rows.push_back({"recompute", "true"});
  if (dice.chance(0.1)) draft["cluster.worker"].rows.push_back({"memory", dice.text_of({"1GB", "40kB"})});
  if (dice.chance(0.08))
    draft["cluster.worker.device"].rows.push_back({"memory", dice.text_of({"1GB", "40kB"})});
  const std::string* const servers = draft.find("cluster", "servers");
  if (servers != nullptr && dice.chance(0.08))
    draft["cluster.server"].rows.push_back({"memory", dice.text_of({"1GB", "40kB"})});
  if (const std::string* const model = draft.find("model", "kind");
      model != nullptr && *model == "\"phantom\"") {
    if (dice.chance(0.3)) draft["model"].rows.push_back({"activations_per_sample", "\"100B\""});
  }
  if (servers == nullptr || draft.find("cluster.worker.device", "count") == nullptr) return;
  if (dice.chance(0.5)) draft["cluster.worker.device"].rows.push_back({"update", "\"device\""});
  if (dice.chance(0.3)) draft["cluster.worker.device"].rows.push_back({"peers", "\"host\""});
}

}  // namespace psim::fuzz
