// The use of each task of a program.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace psim {

struct TaskUse {
  std::int64_t times = 0;                    // how often it was done
  double seconds = 0;                        // total time from giving it out to its end
  std::vector<std::int64_t> by_worker = {};  // how often each worker did it
  double value = 0;                          // the last value that it reported
};

class TaskUses {
 public:
  TaskUses(std::size_t tasks, std::uint32_t workers)
      : uses_(tasks, TaskUse{.by_worker = std::vector<std::int64_t>(workers)}) {}

  TaskUse& operator[](std::size_t task) { return uses_[task]; }
  const std::vector<TaskUse>& all() const { return uses_; }

 private:
  std::vector<TaskUse> uses_;
};

}  // namespace psim
