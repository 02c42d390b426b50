// A gradient that a thread computes while simulated time passes. It depends only on the pulled weights and
// the batches, so the thread may compute it at any time before the simulated end of the step.
#pragma once

#include <memory>
#include <utility>

#include "model/rounding.hpp"
#include "sim/nodes/job_context.hpp"
#include "sim/nodes/local_work.hpp"

namespace psim {

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
    task_ =
        job_.pool.submit([this, weights = std::move(weights), result = gradient_, work = std::move(work)] {
          *result = local_gradient(*job_.plan.learner, weights.get(), work, local_);
          if (round_to(job_.plan.precision(), *result, job_.plan.loss_scale())) job_.state.totals.overflow();
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
    return std::exchange(gradient_, nullptr);
  }

  // The data that the worker keeps between steps. Do not use it while the task runs.
  LocalCopy& local() { return local_; }

 private:
  JobContext& job_;
  LocalCopy local_;
  Pool::Handle task_;
  std::shared_ptr<Values> gradient_;
};

}  // namespace psim
