// The changing state of a job that belongs to no single node. Each part has its own class.
#pragma once

#include <memory>

#include "sim/nodes/assembly_cache.hpp"
#include "sim/nodes/job_plan.hpp"
#include "sim/nodes/job_progress.hpp"
#include "sim/nodes/job_totals.hpp"
#include "sim/nodes/last_weights.hpp"
#include "sim/nodes/layouts.hpp"
#include "sim/nodes/node_usage.hpp"
#include "sim/nodes/storage_disk.hpp"
#include "sim/nodes/task_uses.hpp"
#include "sim/nodes/view_recorder.hpp"
#include "sim/protocol/filter.hpp"

namespace psim {

struct JobState {
  // `nodes`: number of nodes of the run.
  JobState(const JobPlan& plan, std::size_t nodes);

  JobProgress progress;
  JobTotals totals;
  NodeUsage usage;  // of workers and servers
  Layouts layouts;
  LastWeights last_weights;
  StorageDisk disk;
  TaskUses tasks;
  ViewRecorder views;
  AssemblyCache assemblies;
  std::shared_ptr<FilterBuffers> filter_buffers = std::make_shared<FilterBuffers>();

  // The scheduler has made this view. If the view cuts a shard, this also cuts the stored weights of the
  // shard.
  void hear(const View& view);
};

}  // namespace psim
