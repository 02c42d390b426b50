// One line on stderr while a run goes on, when stderr is a terminal; at most ten times a second.
#pragma once

#include <cstdint>

#include "sim/record/event.hpp"
#include "sim/scenario/load.hpp"

namespace psim::cli {

// Seconds of the machine's steady clock. The only use of real time in psim; nothing simulated sees it.
double host_seconds();

class Progress final : public EventSink {
 public:
  explicit Progress(const LoadedScenario& loaded);
  void on(const Event& event, std::uint64_t hash) override;
  void erase();

 private:
  void draw(const Event& event);

  bool visible_;
  bool drawn_ = false;
  std::uint64_t events_ = 0;
  std::int64_t updates_ = 0, steps_done_ = 0;
  double steps_in_all_ = 0;  // 0: unknown
  double duration_ = 0;      // 0: none
  double begin_, last_drawn_;
};

}  // namespace psim::cli
