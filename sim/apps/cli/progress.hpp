// The progress of a run on stderr, at most ten times a second.
#pragma once

#include <cstdint>
#include <string>

#include "sim/record/event.hpp"
#include "sim/runs/process.hpp"
#include "sim/scenario/load.hpp"
#include "sim/study/make.hpp"

namespace psim::cli {

// If stderr is a terminal, redraws one line. `as_json`: writes lines of JSON to any stderr, with
// `sim_time_s`, `updates` and, if known, `share` and `seconds_to_go`.
class Progress final : public EventSink {
 public:
  explicit Progress(const LoadedScenario& loaded, bool as_json = false);
  void on(const Event& event, std::uint64_t hash) override;
  void erase() const;  // the line

 private:
  void draw(const Event& event);

  bool as_json_, visible_;
  bool drawn_ = false;
  std::uint64_t events_ = 0;
  std::int64_t updates_ = 0, steps_done_ = 0;
  double steps_in_all_ = 0;  // 0: unknown
  double duration_ = 0;      // 0: none
  double begin_, last_drawn_;
};

// The progress of a study on stderr: redraws one line on a terminal, and otherwise writes one line a minute.
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
