#include "sim/scenario/text/synonyms.hpp"

#include <array>

namespace psim {
namespace {

struct Synonym {
  std::string_view word, meaning;
};

constexpr std::array<Synonym, 68> synonyms{{
    // consistency models
    {"async", "asp"},
    {"asynchronous", "asp"},
    {"hogwild", "asp"},
    {"downpour", "asp"},
    {"sync", "bsp"},
    {"synchronous", "bsp"},
    {"barrier", "bsp"},
    {"stale", "ssp"},
    {"stale-synchronous", "ssp"},
    {"stale_synchronous", "ssp"},
    {"bounded", "ssp"},
    {"backup", "backup-workers"},
    {"k_sync", "k-sync"},
    {"k_async", "k-async"},
    // optimizers
    {"adamw", "adam"},
    {"nag", "nesterov"},
    {"sgdm", "momentum"},
    {"sgd-momentum", "momentum"},
    {"heavy-ball", "momentum"},
    {"heavyball", "momentum"},
    {"polyak", "momentum"},
    // training
    {"lr", "learning_rate"},
    {"rate", "learning_rate"},
    {"eta", "learning_rate"},
    {"step_size", "learning_rate"},
    {"stepsize", "learning_rate"},
    {"batch", "batch_size"},
    {"batchsize", "batch_size"},
    {"minibatch", "batch_size"},
    {"mini_batch", "batch_size"},
    {"bs", "batch_size"},
    {"iterations", "steps"},
    {"iters", "steps"},
    {"max_steps", "steps"},
    {"max_time", "duration"},
    {"time_limit", "duration"},
    {"wd", "weight_decay"},
    {"beta", "momentum"},
    {"mu", "momentum"},
    {"lambda", "l2"},
    {"eval_every", "evaluate_every"},
    {"validation_split", "validation_fraction"},
    {"decay_rate", "schedule_factor"},
    {"lr_schedule", "schedule"},
    {"hidden", "layers"},
    {"hidden_layers", "layers"},
    {"dtype", "precision"},
    {"params", "parameters"},
    // cluster
    {"nodes", "workers"},
    {"num_workers", "workers"},
    {"n_workers", "workers"},
    {"clients", "workers"},
    {"gpus", "workers"},
    {"ps", "servers"},
    {"num_servers", "servers"},
    {"num_ps", "servers"},
    {"flops", "speed"},
    {"bw", "bandwidth"},
    {"rtt", "latency"},
    {"slow", "straggler"},
    {"slow_worker", "straggler"},
    {"factor", "slowdown"},
    // failures
    {"failure", "fault"},
    {"checkpoint", "snapshot"},
    {"replicas", "copies"},
    {"kill", "crash"},
    {"duration", "lasts"},
    // data
    {"mnist", "idx"},
}};

}  // namespace

std::vector<std::string_view> meanings(std::string_view word) {
  std::vector<std::string_view> found;
  for (const Synonym& one : synonyms) {
    if (one.word == word) found.push_back(one.meaning);
  }
  return found;
}

}  // namespace psim
