// A gradient that a thread computes while simulated time passes. It depends on the pulled weights and the
// batches alone, so the thread may compute it at any time before that time is over.
#pragma once

#include <memory>
#include <utility>

#include "model/rounding.hpp"
#include "sim/roles/local_work.hpp"
#include "sim/roles/world.hpp"

namespace psim {

class GradientTask {
 public:
  explicit GradientTask(World& world) : world_(world) {}
  // A gradient that nobody wants any more may still be on its way.
  ~GradientTask() {
    if (task_) world_.pool.abandon(task_);
  }
  GradientTask(const GradientTask&) = delete;
  GradientTask& operator=(const GradientTask&) = delete;

  // From `weights`, or without any from the local copy. Nothing for a phantom model.
  void start(std::shared_ptr<Assembly> weights, LocalWork work) {
    if (world_.learner == nullptr) return;
    if (weights) local_.weights = nullptr;
    gradient_ = std::make_shared<Values>();
    task_ =
        world_.pool.submit([this, weights = std::move(weights), result = gradient_, work = std::move(work)] {
          *result = local_gradient(*world_.learner, weights.get(), work, local_);
          round_to(world_.precision(), *result, world_.loss_scale());
        });
  }
  void wait() {
    if (task_) world_.pool.wait(task_);
  }
  void cancel() {
    if (task_) world_.pool.cancel(task_);
  }
  // When it is waited for: its values; null for a phantom model.
  const std::shared_ptr<Values>& gradient() const { return gradient_; }
  std::shared_ptr<Values> take() {
    task_ = nullptr;
    return std::exchange(gradient_, nullptr);
  }

  // What the worker keeps from one step to the next. Not while the task runs.
  LocalCopy& local() { return local_; }

 private:
  World& world_;
  LocalCopy local_;
  Pool::Handle task_;
  std::shared_ptr<Values> gradient_;
};

}  // namespace psim
