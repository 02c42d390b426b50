#include "sim/cluster/pool.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace psim {

class Pool::Task {
 public:
  explicit Task(std::function<void()> work) : work_(std::move(work)) {}
  enum class State { queued, running, done } state = State::queued;  // under the pool's mutex
  std::exception_ptr error;

  void run() noexcept {
    try {
      work_();
    } catch (...) {
      error = std::current_exception();
    }
    work_ = nullptr;  // frees the captured data before a waiting thread continues
  }

 private:
  std::function<void()> work_;
};

Pool::Pool(unsigned threads) {
  try {
    for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    stop();
    throw;
  }
}

Pool::~Pool() { stop(); }

void Pool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Pool::abandon(const Handle& task) {
  std::unique_lock lock(mutex_);
  std::erase(queue_, task);
  changed_.wait(lock, [&task] { return task->state != Task::State::running; });
}

Pool::Handle Pool::submit(std::function<void()> work) {
  auto task = std::make_shared<Task>(std::move(work));
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(task);
  }
  changed_.notify_one();
  return task;
}

void Pool::wait(const Handle& task) {
  std::unique_lock lock(mutex_);
  while (task->state != Task::State::done) {
    // Instead of sleeping, run this task; with other threads, run the first queued task.
    const auto own = std::ranges::find(queue_, task);
    const auto next = own != queue_.end() ? own : threads_.empty() ? queue_.end() : queue_.begin();
    if (next == queue_.end()) {
      changed_.wait(lock);
      continue;
    }
    const Handle todo = std::move(*next);
    queue_.erase(next);
    todo->state = Task::State::running;
    lock.unlock();
    run(todo);
    lock.lock();
  }
  if (task->error) std::rethrow_exception(task->error);
}

void Pool::run_all(std::vector<std::function<void()>> parts) {
  std::vector<Handle> tasks;
  for (std::function<void()>& part : parts) tasks.push_back(submit(std::move(part)));
  std::exception_ptr failure;  // the parts share data of the caller, which stays until all are done
  for (const Handle& task : tasks) {
    try {
      wait(task);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void Pool::cancel(const Handle& task) {
  const std::lock_guard lock(mutex_);
  std::erase(queue_, task);
}

void Pool::run(const Handle& task) {
  {
    const LentExecutor alone(nullptr);  // no task within another
    task->run();
  }
  {
    const std::lock_guard lock(mutex_);
    task->state = Task::State::done;
  }
  changed_.notify_all();
}

void Pool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const Handle task = queue_.front();
    queue_.pop_front();
    task->state = Task::State::running;
    lock.unlock();
    run(task);
    lock.lock();
  }
}

}  // namespace psim
