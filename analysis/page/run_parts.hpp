// Parts of the page of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/page/page.hpp"
#include "analysis/render/html.hpp"

namespace psim::analysis {

struct RunView {
  const RunPage& page;
  Numbers numbers;  // of summary.json
};

// All seconds that workers were held up, and the seconds for the node that held them up most.
struct WaitedFor {
  double total = 0, for_most = 0;
  std::string most_awaited;
};
WaitedFor waits_of(const Json& why);

// The course of the run in words.
std::string run_answer(const RunView& view);
// "Workers waited 60 % of their time; nearly all of the delay was due to worker 3"
std::string waiting_heading(const RunView& view);

// The first marks of the rows with their meanings, in order of time.
std::string happenings(const Timeline& timeline);
std::string waits_table(const RunView& view);
// The critical path by node and kind.
std::string path_table(const RunView& view);
std::string workers_figure(const RunView& view);
// The place of the curves of training; empty if there are none.
std::string loss_figure(const RunView& view);
// Dates to mark on the curves, with names: "crash", "detected", "taken over" for the first recovery. Later
// crashes have no names.
std::vector<std::pair<double, std::string>> dates_of(const Json& summary);
// The place of the histogram of staleness; empty if no push was stale.
std::string staleness_figure(const RunView& view);
std::string traffic_table(const RunView& view);
std::string recoveries_figure(const RunView& view);

// Equal parts of a run, each with a mean rate of traffic. Messages come in one burst per step. A part covers
// a whole number of steps; otherwise parts would hold different numbers of bursts, and the curve would show a
// saw-tooth that is not in the run.
struct TrafficBins {
  std::size_t count;
  std::size_t steps;  // mean steps in a part, about; 0: the run has too few steps
  double width;       // seconds
  // Splits an amount between the two parts with the nearest centres, because steps have different lengths.
  // Before the first centre and after the last centre, one part takes all.
  void add(std::vector<double>& sums, double at, double amount) const;
};
// `step`: the mean length of a step in seconds, or 0.
TrafficBins traffic_bins(double end, double step);

// The critical path for the scripts of the page.
Json path_json(const Json& path);

// The time line for the scripts of the page.
Json timeline_json(const Timeline& timeline);

// Where the step-through of a run with too many events begins: at this event, or before this date; otherwise
// before the first fault, or at the begin.
struct ShowFrom {
  std::optional<std::int64_t> event = {};
  std::optional<double> date = {};  // seconds
};
// The events for the step-through; null: the run has too many nodes.
Json show_json(const RunRecord& record, const Timeline& timeline, const ShowFrom& from = {});

// All data for the scripts of the page.
Json run_data(const RunView& view);

}  // namespace psim::analysis
