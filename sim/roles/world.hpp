// What the roles of one run share.
#pragma once

#include <functional>

#include "model/learner.hpp"
#include "model/sampler.hpp"
#include "sim/cluster/agenda.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/pool.hpp"
#include "sim/cluster/slowness.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/record/recorder.hpp"
#include "sim/scenario/scenario.hpp"

namespace psim {

struct World {
  const Scenario& scenario;
  ConsistencyRule rule;
  std::int64_t steps;  // clocks of each worker; very large when something else ends the run
  std::size_t parameters;
  std::int64_t training_samples;  // 0 for a phantom model

  Agenda& agenda;
  Network& network;
  Recorder& recorder;
  Pool& pool;
  Slowness& slowness;
  const Learner* learner;  // none for a phantom model
  Sampler* sampler;        // likewise

  double last_finish = 0;  // when a worker was through
  int busy = 0;            // computations going on, of workers and servers

  std::function<void()> on_update;  // after a server's update
  std::function<void()> on_end;     // when every worker has left

  static constexpr NodeId scheduler = 0;
  NodeId first_server() const { return 1; }
  std::uint32_t servers() const { return static_cast<std::uint32_t>(scenario.cluster.servers); }
  std::uint32_t workers() const { return static_cast<std::uint32_t>(scenario.cluster.workers); }
  NodeId first_worker() const { return 1 + servers(); }
  // Passes over the data that one clock of all workers makes; a phantom model counts clocks.
  double epochs_per_clock() const {
    if (training_samples == 0) return 1;
    return static_cast<double>(scenario.training.batch_size * scenario.cluster.workers) /
           static_cast<double>(training_samples);
  }
  LearningRate learning_rate() const {
    const TrainingSpec& training = scenario.training;
    return {.base = training.learning_rate,
            .schedule = training.schedule,
            .step_every = training.schedule_every,
            .step_factor = training.schedule_factor,
            .total_epochs = static_cast<double>(steps) * epochs_per_clock()};
  }
  Range range_of(std::uint32_t server) const { return even_range(parameters, servers(), server); }

  // One assembled copy of the weights for all workers that pulled the same version.
  std::shared_ptr<Assembly> assemble(std::vector<Slice> parts) {
    std::shared_ptr<Assembly> last = last_assembly.lock();
    if (!last || !last->same_parts(parts) || !last->join()) {
      last = std::make_shared<Assembly>(std::move(parts));
      last_assembly = last;
    }
    return last;
  }
  std::weak_ptr<Assembly> last_assembly = {};

  void record(EventKind kind, NodeId node, std::int64_t clock, std::int64_t version = 0, NodeId peer = 0,
              std::int64_t value = 0) {
    recorder.record({.at = Agenda::now(),
                     .kind = kind,
                     .node = node,
                     .peer = peer,
                     .clock = clock,
                     .version = version,
                     .value = value});
  }
};

}  // namespace psim
