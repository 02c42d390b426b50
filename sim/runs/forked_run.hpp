// A run in a copy of this process. The copy has all loaded data without loading it again.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "sim/runs/answer.hpp"
#include "sim/runs/open_file.hpp"

namespace psim {

// A file in memory: one process writes it, another process reads it.
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
  // Does `work` in the copy. The copy ends when this process ends. Call it while this process has no other
  // threads and has not used SimGrid. Throws std::runtime_error.
  explicit ForkedRun(const std::function<RunAnswer()>& work);
  pid_t process() const { return process_; }
  // The answer, after the copy has ended with `status` (from waitpid).
  RunAnswer answer(int status) const { return answer_of(status, answer_.text(), log_.text()); }

 private:
  MemoryFile answer_ = {}, log_ = {};
  pid_t process_ = 0;
};

// Does `work` in a copy of this process, and waits for its answer.
RunAnswer run_apart(const std::function<RunAnswer()>& work);

}  // namespace psim
