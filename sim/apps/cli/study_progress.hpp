// The progress of a study on stderr: redraws one line on a terminal, and otherwise writes one line a minute.
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
  double last_ = 0;  // time of the last line, by host_seconds
};

}  // namespace psim::cli
