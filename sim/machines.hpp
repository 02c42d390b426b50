// The parts that the jobs of a run share: the simulated cluster, the record, and the threads that compute.
#pragma once

#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/cpu.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/platform.hpp"
#include "sim/cluster/pool.hpp"
#include "sim/cluster/speed_control.hpp"
#include "sim/nodes/job/job_plan.hpp"
#include "sim/record/recorder.hpp"
#include "sim/simulation.hpp"

namespace psim {

struct Machines {
  // `sinks` get the events of the record.
  Machines(const Scenario& scenario, const std::vector<JobPlan>& jobs, const RunOptions& options,
           const std::vector<EventSink*>& sinks);

  Engine engine;
  Platform platform;
  Recorder recorder;
  Pool pool;
  LentExecutor updates{&pool};  // of large models
  Agenda agenda{recorder};
  Cpus cpus;
  Network network;
  Slowness slowness;  // of workers at a date; the slowness of steps belongs to the jobs
};

}  // namespace psim
