#include "sim/apps/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "model/dataset.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/runs/process.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {

Progress::Progress(const LoadedScenario& loaded, bool as_json)
    : as_json_(as_json),
      visible_(as_json || isatty(STDERR_FILENO) != 0),
      begin_(host_seconds()),
      last_drawn_(begin_) {
  const auto add = [this](const Scenario& scenario, const DataSplit* data) {
    if (const auto steps = steps_of(scenario, data != nullptr ? data->train.size() : 0))
      steps_in_all_ += static_cast<double>(*steps) * static_cast<double>(scenario.cluster.workers);
    if (scenario.training.duration) duration_ = std::max(duration_, scenario.training.duration->value);
  };
  if (loaded.jobs.empty()) add(loaded.scenario, loaded.data.get());
  for (const LoadedJob& job : loaded.jobs) add(job.scenario, job.data.get());
}

void Progress::erase() const {
  if (drawn_) say("\r\033[K");
}

void Progress::on(const Event& event, std::uint64_t) {
  if (!visible_) return;
  if (const ModelUpdate* update = event.as<ModelUpdate>()) updates_ = std::max(updates_, update->version);
  const Computation* what = event.as<Computation>();
  const bool ends = what != nullptr && what->work == Work::step && what->phase == ComputePhase::ended;
  if (ends && what->is_last()) ++steps_done_;
  if (++events_ % 64 != 0) return;
  const double now = host_seconds();
  if (now - last_drawn_ < 0.1) return;
  last_drawn_ = now;
  draw(event);
}

void Progress::draw(const Event& event) {
  double share = steps_in_all_ > 0 ? static_cast<double>(steps_done_) / steps_in_all_ : 0;
  if (duration_ > 0) share = std::max(share, event.at / duration_);
  share = std::min(share, 1.0);
  const double to_go = share > 0 ? (last_drawn_ - begin_) * (1 / share - 1) : 0;
  if (as_json_) {
    nlohmann::ordered_json line{{"sim_time_s", event.at}, {"updates", updates_}};
    if (share > 0) line.update({{"share", share}, {"seconds_to_go", to_go}});
    return say("{}\n", line.dump());
  }
  std::string line = fmt::format("simulated {:.3f} s, {}", event.at, counted(updates_, "update"));
  if (share > 0) line += fmt::format(", {:.0f} %, {} to go", 100 * share, time_text(to_go));
  say("\r\033[K{}", line);
  drawn_ = true;
}

StudyProgress::StudyProgress() : is_terminal_(isatty(STDERR_FILENO) != 0), last_(host_seconds()) {}

void StudyProgress::note(const std::string& text) { say_text(text); }

void StudyProgress::on_progress(std::size_t runs, std::size_t of, double seconds_to_go) {
  constexpr double between_drawings = 0.1, between_lines = 60;  // seconds
  const double now = host_seconds();
  if (now - last_ < (is_terminal_ ? between_drawings : between_lines)) return;
  last_ = now;
  std::string line = fmt::format("{}/{} runs", runs, of);
  if (seconds_to_go > 0) line += ", " + time_text(seconds_to_go) + " to go";
  if (is_terminal_) say("\r\033[K{}", line);
  else say("{}\n", line);
}

void StudyProgress::on_end() {
  if (is_terminal_) say("\r\033[K");
}

}  // namespace psim::cli
