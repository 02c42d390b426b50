#include "sim/scenario/text/synonyms.hpp"

#include <algorithm>
#include <iterator>

namespace psim {
namespace {

struct Synonym {
  std::string_view word, meaning;
};

constexpr Synonym synonyms[] = {
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
    {"nag", "nesterov"},
    {"sgdm", "momentum"},
    {"sgd-momentum", "momentum"},
    {"heavy-ball", "momentum"},
    {"heavyball", "momentum"},
    {"polyak", "momentum"},
    // faults
    {"byzantine", "corrupt"},
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
    // PyTorch, Transformers, Slurm, SimGrid, ns-3
    {"epoch", "epochs"},
    {"max_epochs", "epochs"},
    {"num_epochs", "epochs"},
    {"n_epochs", "epochs"},
    {"num_train_epochs", "epochs"},
    {"per_device_train_batch_size", "batch_size"},
    {"gradient_accumulation_steps", "accumulate"},
    {"eps", "epsilon"},
    {"gamma", "schedule_factor"},
    {"lr_scheduler", "schedule"},
    {"loss_fn", "loss"},
    {"criterion", "loss"},
    {"manual_seed", "seed"},
    {"random_seed", "seed"},
    {"random_state", "seed"},
    {"walltime", "duration"},
    {"world_size", "workers"},
    {"nproc_per_node", "workers"},
    {"np", "workers"},
    {"ntasks", "workers"},
    {"hosts", "workers"},
    {"num_clients", "workers"},
    {"parameter_servers", "servers"},
    {"delay", "latency"},
    {"lat", "latency"},
    {"data_rate", "bandwidth"},
    {"datarate", "bandwidth"},
    {"throughput", "bandwidth"},
    {"mem", "memory"},
    {"power", "speed"},
    {"dataset", "source"},
    {"max_staleness", "staleness"},
    {"slack", "staleness"},
};

constexpr Synonym advices[] = {
    {"seeds", "write --seeds 10 (psim compare), or seeds = [1, 2, 3] in [compare]"},
    {"ddp", "write kind = \"all-reduce\" in [architecture]"},
    {"horovod", "write kind = \"all-reduce\" in [architecture]"},
    {"nccl", "write kind = \"all-reduce\" in [architecture]"},
    {"allreduce", "write kind = \"all-reduce\" in [architecture]"},
    {"fedavg", "write local_steps = 10 in [training]: a clock of 10 steps between two pushes"},
    {"betas", "write beta1 = 0.9 and beta2 = 0.999"},
};

}  // namespace

std::vector<std::string_view> meanings(std::string_view word) {
  std::vector<std::string_view> found;
  for (const Synonym& one : synonyms) {
    if (one.word == word) found.push_back(one.meaning);
  }
  return found;
}

std::string_view advice_on(std::string_view word) {
  const auto found = std::ranges::find(advices, word, &Synonym::word);
  return found == std::end(advices) ? std::string_view() : found->meaning;
}

}  // namespace psim
