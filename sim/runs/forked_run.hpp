// A run in a copy of this process: all that is loaded is the copy's, without being loaded again.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "sim/runs/answer.hpp"
#include "sim/runs/open_file.hpp"

namespace psim {

// A file in memory, which one process writes and another one reads.
class MemoryFile {
 public:
  MemoryFile();
  const OpenFile& file() const { return file_; }
  std::string text() const;

 private:
  OpenFile file_;
};

class ForkedRun {
 public:
  // Does `work` in the copy, which ends when this process does. To be called while this process has no other
  // threads and has used nothing of SimGrid. Throws std::runtime_error.
  explicit ForkedRun(const std::function<RunAnswer()>& work);
  pid_t process() const { return process_; }
  // The answer, once the copy has ended with `status` (waitpid).
  RunAnswer answer(int status) const { return answer_of(status, answer_.text(), log_.text()); }

 private:
  MemoryFile answer_ = {}, log_ = {};
  pid_t process_ = 0;
};

// Does `work` in a copy of this process, and waits for it.
RunAnswer run_apart(const std::function<RunAnswer()>& work);

}  // namespace psim
