// One namespace of a run: its data, its model, its workers, and how its training goes and ends. What it
// shares with other jobs is the cluster. Most runs have one job.
//
// [[group]] divides the workers: each group trains a job of its own, or shares that of the group before (Li
// et al., OSDI 2014, section 3). Jobs share what belongs to the machines: network, recorder, agenda, pool,
// speeds, scheduler. Decisions:
// - A job's scenario is the file read again with the group's set put in, by the code of --set, and then
//   narrowed to its workers. So every field, default, preset, check and diagnostic is there for groups too.
//   What belongs to the machines cannot be set.
// - A job draws what it would draw alone: batches, weights, slowness and random filters go by its own
//   worker numbers and its seed. So under bsp a job's weights are those of a run of it alone, bit for bit;
//   only dates differ, by what the neighbours cost (tests/oracles/groups_test.cpp).
// - A server is one actor with a part for each job, and takes messages in order of arrival: its time and
//   its links are what jobs contend for.
// - Groups that share a job may differ in batch size; clocks, optimizer, consistency model and end are the
//   job's.
// - A job that ends before others leaves the cluster: its workers stop, and what its pushes would still
//   have done does not happen. The last one ends the run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/cluster/platform.hpp"
#include "sim/evaluator.hpp"
#include "sim/record/result.hpp"
#include "sim/roles/crew.hpp"
#include "sim/roles/world.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

// What all jobs run on.
struct Machines {
  const Platform& platform;
  Agenda& agenda;
  Network& network;
  Recorder& recorder;
  Pool& pool;
};

class Job {
 public:
  // What others have to do with it.
  struct Hooks {
    std::function<void(Job&)> on_end;  // from the agenda: it is through, or has reached what it was for
    std::function<void(std::int64_t)> on_update = {};           // so many updates are done
    std::function<void(const Evaluation&)> on_evaluation = {};  // a run that waits for evaluations
    RunWatch* watch = nullptr;
  };

  // `space`: its number among the namespaces. `loaded` must live as long.
  Job(const LoadedJob& loaded, std::size_t space, std::uint32_t first_shard, KeySpace keys,
      const Machines& machines);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Before the simulation runs. `worlds`: of all jobs.
  void start(Hooks hooks, const std::vector<World*>& worlds);
  void plan_evaluations();
  void plan_end();

  // It is over; the others may go on, and then their end is not its own.
  void end();
  // The last point of its curve, when its weights change no more.
  void finish_curve();

  World& world() { return world_; }
  const World& world() const { return world_; }
  Crew& crew() { return crew_; }
  const Crew& crew() const { return crew_; }
  bool is_over() const { return world_.over; }
  double finished() const { return finished_; }
  const LoadedJob& loaded() const { return loaded_; }
  std::vector<CurvePoint> curve() const;
  std::optional<CurvePoint> target() const;
  std::uint64_t hash_of_weights() const;
  // It came to its end by itself, though not every worker that may still come was through.
  bool ended_early() const { return ended_early_; }

 private:
  void on_update();
  bool take_point();
  void end_soon();

  const LoadedJob& loaded_;
  const Scenario& scenario_;
  std::size_t space_;
  Slowness slowness_;                 // of its workers' steps
  std::unique_ptr<Learner> learner_;  // none of a phantom model, as the next two
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Evaluator> evaluator_;
  World world_;
  Crew crew_;
  Hooks hooks_;
  std::int64_t evaluate_updates_ = 0;  // evaluate whenever so many more updates are done; 0: by time
  std::int64_t last_evaluated_ = 0;    // in units of evaluate_updates_
  bool curve_finished_ = false, ended_early_ = false;
  double finished_ = 0;
};

}  // namespace psim
