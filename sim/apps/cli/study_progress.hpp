// How far a study is, on stderr: a line that is drawn anew on a terminal, a line a minute elsewhere.
#pragma once

#include <string>

#include "sim/runs/host_clock.hpp"
#include "sim/study/make.hpp"

namespace psim::cli {

class StudyProgress final : public study::Watcher {
 public:
  StudyProgress();
  void note(const std::string& text) override;
  void on_progress(std::size_t runs, std::size_t of, double seconds_to_go) override;
  void on_end() override;

 private:
  bool is_terminal_;
  double last_ = 0;  // when a line was shown, by host_seconds
};

}  // namespace psim::cli
