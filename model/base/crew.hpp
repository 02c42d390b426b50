// Threads for work on large arrays. The model starts no threads: a simulation lends it its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace psim {

// Several threads that do all parts of a work.
class Crew {
 public:
  Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  virtual ~Crew() = default;
  virtual unsigned threads() const = 0;
  // Returns when all are done, and rethrows an exception of one.
  virtual void do_all(std::vector<std::function<void()>> parts) = 0;
};

// The threads that work for this thread; null: it works alone.
inline thread_local Crew* crew = nullptr;

// Lends a crew to this thread, until its own end.
class LentCrew {
 public:
  explicit LentCrew(Crew& lent) { crew = &lent; }
  ~LentCrew() { crew = nullptr; }
  LentCrew(const LentCrew&) = delete;
  LentCrew& operator=(const LentCrew&) = delete;
};

// Calls work(begin, end) for parts of [0, size) that begin at multiples of `unit`, at the same time. No part
// may depend on another, so the number of threads changes no result.
template <class Work>
void in_parts(std::size_t size, std::size_t unit, const Work& work) {
  constexpr std::size_t least = std::size_t{1} << 15U;  // below, a thread starts later than the work ends
  const std::size_t count = crew == nullptr ? 1 : std::min<std::size_t>(crew->threads(), size / least);
  if (count <= 1) return work(std::size_t{0}, size);
  const std::size_t each = (size / count / unit + 1) * unit;
  std::vector<std::function<void()>> parts;
  for (std::size_t begin = 0; begin < size; begin += each)
    parts.emplace_back([&work, begin, end = std::min(size, begin + each)] { work(begin, end); });
  crew->do_all(std::move(parts));
}

}  // namespace psim
