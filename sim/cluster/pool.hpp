// Real computation on several threads while simulated time passes. A task is a pure function. It starts when
// a thread is free, and a simulated date waits for it. Simulated order decides all results; threads only
// change the waiting time of the user.
//
// The simulating thread counts: while it waits for a gradient it computes others. A gradient's task drops
// its weights when it is done, workers that pulled the same version share one assembled copy, and a server
// copies its weights only if an answer still holds them. So a run of W workers holds about W + 2 models.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "model/base/parallel.hpp"

namespace psim {

class Pool final : public Executor {
 public:
  // `threads` includes the caller, which works while it waits; 1 computes everything in wait().
  explicit Pool(unsigned threads);
  ~Pool() override;

  class Task;
  using Handle = std::shared_ptr<Task>;

  Handle submit(std::function<void()> work);
  // Returns when the task is done, and rethrows its exception, if any.
  void wait(const Handle& task);
  void run_all(std::vector<std::function<void()>> parts) override;
  // The result is no longer needed: a queued task never starts, and the result of a running task is dropped.
  void cancel(const Handle& task);
  // As cancel(), and waits until the task no longer runs, so the data that it uses may be destroyed.
  void abandon(const Handle& task);
  // As abandon() for all tasks. Later tasks do not start.
  void stop();

  unsigned threads() const override { return static_cast<unsigned>(threads_.size()) + 1; }

 private:
  void work();
  void run(const Handle& task);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Handle> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace psim
