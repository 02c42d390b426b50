// Threads for work on large arrays. The model starts no threads: a simulation lends it its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace psim {

// Several threads that do all parts of a work.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;
  virtual unsigned threads() const = 0;
  // Returns when all are done, and rethrows an exception of one.
  virtual void run_all(std::vector<std::function<void()>> parts) = 0;
};

// The threads that work for this thread; null: it works alone.
inline thread_local Executor* executor = nullptr;

// Lends an executor to this thread, until its own end; null: the thread works alone.
class LentExecutor {
 public:
  explicit LentExecutor(Executor* lent) : before_(std::exchange(executor, lent)) {}
  ~LentExecutor() { executor = before_; }
  LentExecutor(const LentExecutor&) = delete;
  LentExecutor& operator=(const LentExecutor&) = delete;

 private:
  Executor* before_;
};

// Calls work(begin, end) for parts of [0, size) that begin at multiples of `unit`, at the same time. No part
// may depend on another, so the number of threads changes no result.
template <class Work>
void parallel_for(std::size_t size, std::size_t unit, const Work& work) {
  constexpr std::size_t least = std::size_t{1} << 15U;  // below, a thread starts later than the work ends
  const std::size_t count =
      executor == nullptr ? 1 : std::min<std::size_t>(executor->threads(), size / least);
  if (count <= 1) return work(std::size_t{0}, size);
  const std::size_t each = (size / count / unit + 1) * unit;
  std::vector<std::function<void()>> parts;
  for (std::size_t begin = 0; begin < size; begin += each)
    parts.emplace_back([&work, begin, end = std::min(size, begin + each)] { work(begin, end); });
  executor->run_all(std::move(parts));
}

}  // namespace psim
