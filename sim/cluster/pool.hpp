// Real computation on several threads while simulated time passes. A task is a pure function, started
// whenever a thread is free and waited for at a simulated date; simulated order decides everything,
// threads only decide how long you wait.
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

namespace psim {

class Pool {
 public:
  // `threads` counts the caller, who works while it waits; 1 computes everything in wait().
  explicit Pool(unsigned threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  class Task;
  using Handle = std::shared_ptr<Task>;

  Handle submit(std::function<void()> work);
  // Returns when the task is done; its exception, if any, is thrown here.
  void wait(const Handle& task);
  // The result is no longer wanted: not started if it was not, and forgotten otherwise.
  void cancel(const Handle& task);
  // The same, and when this returns it does not run any more: what it works on may go.
  void abandon(const Handle& task);
  // Likewise for all tasks; no more are done.
  void stop();

  unsigned threads() const { return static_cast<unsigned>(threads_.size()) + 1; }

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
