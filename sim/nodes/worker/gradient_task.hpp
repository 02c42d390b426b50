// A gradient that a thread computes while simulated time passes. It depends only on the pulled weights and
// the batches, so the thread may compute it at any time before the simulated end of the step. The worker's
// own copy and optimizer change only with take(): a result that nobody takes leaves them as they were.
#pragma once

#include <memory>
#include <utility>

#include "model/parameters.hpp"
#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/worker/local_work.hpp"

namespace psim {

// The own steps of a worker in this clock.
inline OwnSteps own_steps(const JobPlan& plan, std::int64_t clock, std::size_t count) {
  return {.optimizer = plan.with_arrays(plan.scenario.training.optimizer, {{0, plan.keys.parameters}}),
          .storage = plan.storage(),
          .loss_scale = plan.loss_scale(),
          .parameters = plan.keys.parameters,
          .rates = plan.step_rates(clock, count),
          .fresh = plan.scenario.training.inner.state == InnerState::fresh};
}

class GradientTask {
 public:
  explicit GradientTask(JobContext& job) : job_(job) {}
  // The thread may still compute a gradient that the run no longer needs.
  ~GradientTask() {
    if (task_) job_.pool.abandon(task_);
  }
  GradientTask(const GradientTask&) = delete;
  GradientTask& operator=(const GradientTask&) = delete;

  // Starts from `weights`, or from the local copy if there are none. Does nothing for a phantom model.
  void start(std::shared_ptr<Assembly> weights, LocalWork work) {
    if (job_.plan.learner == nullptr) return;
    if (weights) local_.weights = nullptr;
    gradient_ = std::make_shared<Values>();
    after_ = std::make_shared<LocalCopy>(local_);
    task_ = job_.pool.submit([&job = job_, weights = std::move(weights), result = gradient_, after = after_,
                              work = std::move(work)] {
      *result = local_gradient(*job.plan.learner, weights.get(), work, *after);
      const bool overflows = round_to(job.plan.precision(), *result, job.plan.loss_scale());
      if (overflows || after->overflows) job.state.totals.overflow();
    });
  }
  void wait() {
    if (task_) job_.pool.wait(task_);
  }
  void cancel() {
    if (task_) job_.pool.cancel(task_);
  }
  // After wait(): the gradient; null for a phantom model.
  const std::shared_ptr<Values>& gradient() const { return gradient_; }
  std::shared_ptr<Values> take() {
    task_ = nullptr;
    if (after_) local_ = std::move(*std::exchange(after_, nullptr));
    return std::exchange(gradient_, nullptr);
  }
  // Forgets the result.
  void drop() {
    if (task_) job_.pool.abandon(std::exchange(task_, nullptr));
    gradient_ = nullptr;
    after_ = nullptr;
  }

  // The data that the worker keeps between steps. Do not use it while the task runs.
  LocalCopy& local() { return local_; }

 private:
  JobContext& job_;
  LocalCopy local_;
  Pool::Handle task_;
  std::shared_ptr<Values> gradient_;
  std::shared_ptr<LocalCopy> after_;
};

}  // namespace psim
