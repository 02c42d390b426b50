// A change to a run: the text that asks for it, the fields that it sets in the scenario, and its effect on
// the causal graph.
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
  std::vector<std::uint32_t> nodes;  // that the change concerns; empty: all
  double factor = 1;  // for the changed quantity: the time of computing, the bandwidth, the latency, ...
  double later = 0;   // of later_crash: seconds
  std::string text;   // as the user wrote it: "compute=worker 3:50%"; of `set`: all KEY=VALUE
  std::vector<std::string> sets;  // of `set`: KEY=VALUE
  bool operator==(const Change&) const = default;
};

// The changes that `text` asks for: one, or several that differ in their factor. KEY=VALUE with any other
// name sets a field of the scenario. Throws Unverifiable, with examples of changes.
std::vector<Change> changes_of(const std::string& text, const Facts& facts);

// The changes that make sense for a run: without its stragglers (all of them, and each alone); without its
// faults (all, and each crashed node alone); twice the bandwidth and half the latency; half the work of
// servers and half the overhead of messages, where the run has these; computing twice as fast, for all
// workers and for `busiest`; twice the servers, other places of the shards, later crashes.
std::vector<Change> usual_changes(const RunRecord& record, const CausalGraph& graph, std::uint32_t busiest);

// The fields of the scenario that the change sets, as KEY=VALUE of --set. Throws Unverifiable if no fields
// express the change.
std::vector<std::string> sets_of(const Change& change, const std::filesystem::path& run, const Facts& facts);

// A worker cannot compute in no time: 0 % stands for this share of its time.
inline constexpr double hardly_any = 1e-6;

}  // namespace psim::analysis
