// What could be different in a run: what somebody asks for, what that changes in its scenario, and what in
// its causal graph.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/causes/graph.hpp"

namespace psim::analysis {

struct Change {
  enum class What : std::uint8_t {
    no_straggler,
    no_fault,
    compute,
    bandwidth,
    latency,
    server_work,
    overhead,
    window,
    later_crash,
    set
  } what = What::set;
  std::vector<std::uint32_t> nodes;  // that it is about; none: all
  double factor = 1;  // of what it is about: the time of computing, the bandwidth, the latency, ...
  double later = 0;   // later_crash: seconds
  std::string text;   // as it is asked for: "compute=worker 3:50%"; of `set` all KEY=VALUE
  std::vector<std::string> sets;  // of `set`: KEY=VALUE
  bool operator==(const Change&) const = default;
};

// What `text` asks for: one change, or several that differ in their factor. Throws Unverifiable, with what
// can be asked for. A KEY=VALUE that is none of those names sets a field.
std::vector<Change> changes_of(const std::string& text, const RunRecord& record);

// The changes that make sense for a run: without its stragglers, all and each; without its faults, likewise;
// with twice the bandwidth and half the latency; with half of what servers, and both ends of messages, have
// to do, and twice the window, where a message waits for these; with computing twice as fast, of all workers
// and of `busiest`.
std::vector<Change> usual_changes(const RunRecord& record, const CausalGraph& graph, std::uint32_t busiest);
// Those that only another run can tell of, as somebody asks for them.
std::vector<std::string> unpredictable_changes(const RunRecord& record);

// The fields of the run's scenario that the change gives other values, as KEY=VALUE of --set. Throws
// Unverifiable where no fields say that.
std::vector<std::string> sets_of(const Change& change, const std::filesystem::path& run, const Facts& facts);

// A worker cannot compute in no time: where somebody asks for 0 % it takes this share of its time.
inline constexpr double hardly_any = 1e-6;

}  // namespace psim::analysis
