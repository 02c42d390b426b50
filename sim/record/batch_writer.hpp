// Writes batches in order on its own thread, so the written data does not depend on timing.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace psim {

template <class Batch>
class BatchWriter {
 public:
  explicit BatchWriter(std::function<void(const Batch&)> write) : write_(std::move(write)) {}
  ~BatchWriter() { stop(); }
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;

  // Waits while `most` batches are unwritten, so that a slow disk does not fill the memory. Rethrows the
  // exception of an earlier batch.
  void add(Batch&& batch) {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < most || failure_; });
    if (failure_) std::rethrow_exception(failure_);
    waiting_.push_back(std::move(batch));
    changed_.notify_all();
  }

  // Waits until all batches are written and ends the thread. Rethrows as add() does.
  void close() {
    stop();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    thread_.join();
    closed_ = false;
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Batch batch = std::move(waiting_.front());
      waiting_.pop_front();
      changed_.notify_all();
      lock.unlock();
      std::exception_ptr failure;
      try {
        write_(batch);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (!failure) continue;
      failure_ = failure;
      waiting_.clear();
      changed_.notify_all();
      return;
    }
  }

  static constexpr std::size_t most = 16;
  std::function<void(const Batch&)> write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> waiting_;
  bool closed_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace psim
